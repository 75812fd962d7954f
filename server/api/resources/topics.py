"""`/v1/topics`: what each topic consists of; a topic and its partitions; one partition."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from common.json.text import abbreviated
from controller.model.cluster import NO_ID
from server.api.shared.call import MAX_DIGITS, Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.inventory import Basis, TopicNumbers
from server.api.shared.models import Page
from server.api.shared.partition_rows import (
    PartitionRow,
    PartitionsOfTopicPage,
    partition_page,
    partition_row,
)


class Topic(Struct):
    """A topic in numbers."""

    topic: str
    id: Annotated[str | None, Meta(description="In hexadecimal digits; null without an id.")]
    deleting: Annotated[bool, Meta(description="Its deletion waits, for instance for a broker.")]
    partitions: int
    least_replicas: Annotated[int, Meta(description="Replicas of the partition that has fewest.")]
    most_replicas: Annotated[int, Meta(description="Replicas of the partition that has most.")]
    bytes: Annotated[int, Meta(description="Bytes of one replica of each partition whose size is known.")]
    replica_bytes: Annotated[int, Meta(description="Bytes of all replicas of these partitions.")]
    unsized: Annotated[int, Meta(description="Partitions of unknown size.")]
    moving: Annotated[int, Meta(description="Partitions with a step in flight.")]
    reassigning: Annotated[int, Meta(description="Partitions with a reassignment, in flight or not.")]
    under_replicated: int
    offline: Annotated[int, Meta(description="Partitions without a leader.")]


class Topics(Struct):
    """A page of topics."""

    total: Annotated[int, Meta(description="Number of topics that the parameters select, of all pages.")]
    topics: list[Topic]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]
    basis: Basis


class TopicDetail(Struct):
    """A topic and a page of its partitions."""

    topic: Topic
    total: Annotated[int, Meta(description="Number of partitions that the parameters select, of all pages.")]
    partitions: list[PartitionRow]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]
    basis: Basis


class TopicState(Enum):
    """What some of a topic's partitions are."""

    MOVING = "moving"
    REASSIGNING = "reassigning"
    UNDER_REPLICATED = "under-replicated"
    OFFLINE = "offline"
    DELETING = "deleting"


class TopicSort(Enum):
    """The order of topics."""

    TOPIC = "topic"
    PARTITIONS = "partitions"
    REPLICAS = "replicas"
    """By the replicas of the partition that has most."""
    BYTES = "bytes"
    """By the bytes of all replicas."""
    MOVING = "moving"
    """By partitions in flight, then by those with a reassignment."""
    UNDER_REPLICATED = "under_replicated"
    """By offline, then by under-replicated partitions."""


class TopicsPage(Page, forbid_unknown_fields=True):
    """Query parameters of the topics."""

    q: Annotated[
        str | UnsetType, Meta(description="Only topics whose name contains this text, in any case.")
    ] = UNSET
    state: Annotated[
        TopicState | UnsetType, Meta(description="Only topics with such partitions, or that are deleted.")
    ] = UNSET
    sort: Annotated[TopicSort, Meta(description="The order of the topics.")] = TopicSort.TOPIC
    descending: Annotated[bool, Meta(description="Reverse the order.")] = False


class PartitionDetail(Struct):
    """A partition."""

    partition: PartitionRow


async def topics(call: Call, page: TopicsPage) -> Topics:
    """List topics."""
    inventory = await call.services.inventories.recent()
    deleting = (
        frozenset(name for name, each in call.state.cluster.topics.items() if each.deleting)
        if page.state is TopicState.DELETING
        else frozenset()
    )
    names = await call.compute(len(inventory.topics), _chosen, inventory.topics, deleting, page)
    listed = names[page.offset : page.offset + page.limit]
    return Topics(
        len(names),
        [_row(call, name, inventory.topics[name]) for name in listed],
        page.next(len(listed), len(names)),
        inventory.basis,
    )


async def topic(call: Call, page: PartitionsOfTopicPage) -> TopicDetail:
    """Show a topic and a page of its partitions."""
    name = _name(call)
    inventory = await call.services.inventories.recent()
    _name(call)  # It may have been deleted meanwhile.
    # A topic that is newer than the inventory: its partitions are listed, its numbers follow.
    numbers = inventory.topics.get(name) or TopicNumbers(len(call.state.cluster.partitions[name]))
    listed, total = await partition_page(call, [name], page)
    return TopicDetail(
        _row(call, name, numbers), total, listed, page.next(len(listed), total), inventory.basis
    )


async def partition(call: Call) -> PartitionDetail:
    """Show a partition as it is now."""
    name, text = _name(call), call.path["partition"]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else -1
    found = call.state.cluster.partition(name, number)
    if found is None:
        count = len(call.state.cluster.partitions[name])
        raise HttpError(404, f"Topic {name} has no partition {abbreviated(text)}; it has {count:,}, from 0.")
    return PartitionDetail(partition_row(call, found))


def _name(call: Call) -> str:
    name = call.path["topic"]
    if name not in call.state.cluster.topics or name not in call.state.cluster.partitions:
        raise HttpError(404, f"There is no topic {abbreviated(name)}.")
    return name


def _row(call: Call, name: str, numbers: TopicNumbers) -> Topic:
    known = call.state.cluster.topics.get(name)
    return Topic(
        topic=name,
        id=None if known is None or known.id == NO_ID else known.id.hex(),
        deleting=known is not None and known.deleting,
        partitions=numbers.partitions,
        least_replicas=numbers.least_replicas,
        most_replicas=numbers.most_replicas,
        bytes=numbers.bytes,
        replica_bytes=numbers.replica_bytes,
        unsized=numbers.unsized,
        moving=numbers.moving,
        reassigning=numbers.reassigning,
        under_replicated=numbers.under_replicated,
        offline=numbers.offline,
    )


def _chosen(counted: Mapping[str, TopicNumbers], deleting: frozenset[str], page: TopicsPage) -> Sequence[str]:
    """Return the names of the topics that the filters select, in order."""
    names = list(counted)
    if page.q is not UNSET:
        text = page.q.lower()
        names = [name for name in names if text in name.lower()]
    if page.state is TopicState.DELETING:
        names = [name for name in names if name in deleting]
    elif page.state is not UNSET:
        has = _HAS[page.state]
        names = [name for name in names if has(counted[name])]
    if page.sort is TopicSort.TOPIC:
        return sorted(names, reverse=page.descending)
    key = _KEYS[page.sort]
    return sorted(names, key=lambda name: (*key(counted[name]), name), reverse=page.descending)


_HAS: dict[TopicState, Callable[[TopicNumbers], int]] = {
    TopicState.MOVING: lambda each: each.moving,
    TopicState.REASSIGNING: lambda each: each.reassigning,
    TopicState.UNDER_REPLICATED: lambda each: each.under_replicated,
    TopicState.OFFLINE: lambda each: each.offline,
}

_KEYS: dict[TopicSort, Callable[[TopicNumbers], tuple[Any, ...]]] = {
    TopicSort.PARTITIONS: lambda each: (each.partitions,),
    TopicSort.REPLICAS: lambda each: (each.most_replicas,),
    TopicSort.BYTES: lambda each: (each.replica_bytes,),
    TopicSort.MOVING: lambda each: (each.moving, each.reassigning),
    TopicSort.UNDER_REPLICATED: lambda each: (each.offline, each.under_replicated),
}

ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/topics",
        "List the topics, with what they hold and move.",
        topics,
        Topics,
        query=TopicsPage,
        shared=True,
    ),
    Endpoint(
        "GET",
        "/v1/topics/{topic}",
        "Get a topic and its partitions.",
        topic,
        TopicDetail,
        query=PartitionsOfTopicPage,
        shared=True,
    ),
    Endpoint(
        "GET",
        "/v1/topics/{topic}/partitions/{partition}",
        "Get a partition: replicas, leader, target, and why it waits.",
        partition,
        PartitionDetail,
        shared=True,
    ),
)
