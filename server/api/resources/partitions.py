"""`/v1/partitions`: the partitions of all topics, such as the largest ones of a broker."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from server.api.shared.call import Call, Endpoint
from server.api.shared.partition_rows import PartitionRow, PartitionsOfTopicPage, partition_page


class Partitions(Struct):
    """A page of partitions."""

    total: Annotated[int, Meta(description="Number of partitions that the parameters select, of all pages.")]
    partitions: list[PartitionRow]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


class PartitionsPage(PartitionsOfTopicPage, forbid_unknown_fields=True):
    """Query parameters of the partitions of all topics."""

    topic: Annotated[
        str | UnsetType,
        Meta(description="Only partitions of topics whose name contains this text, in any case."),
    ] = UNSET


async def partitions(call: Call, page: PartitionsPage) -> Partitions:
    """List partitions as they are now."""
    names = list(call.state.cluster.partitions)
    chosen = await call.compute(len(names), _names, names, page.topic)
    listed, total = await partition_page(call, chosen, page)
    return Partitions(total, listed, page.next(len(listed), total))


def _names(names: list[str], topic: str | UnsetType) -> list[str]:
    text = "" if topic is UNSET else topic.lower()
    return sorted(name for name in names if text in name.lower())


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/partitions",
        "List partitions of all topics, such as the largest of a broker.",
        partitions,
        Partitions,
        query=PartitionsPage,
        shared=True,
    ),
)
