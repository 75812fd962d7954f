"""Sizes before a plan: brokers are asked for those that are not known, as of new topics."""

from collections.abc import AsyncIterator, Collection

from common.tasks import in_slices
from server.cruisecontrol.shared.call import CruiseControlCall

AT_ONCE = 5_000
"""Partitions of the topics whose sizes are asked for at once. More would hold up everything else."""


async def measure_unknown(call: CruiseControlCall) -> None:
    """Ask for the sizes that are not known, until all are, or brokers do not report any."""
    async for topics in _portions(call):
        await call.context.services.refresh(topics)
        if not any(_is_measured(call, topic) for topic in topics):
            break


async def _portions(call: CruiseControlCall) -> AsyncIterator[Collection[str]]:
    """Yield topics with partitions of unknown size, some at a time."""
    size_of, portion, rows = call.context.services.sizes.size, set[str](), 0
    async for partition in in_slices(list(call.state.cluster.all_partitions())):
        if partition.topic in portion or size_of(partition.key) is not None:
            continue
        portion.add(partition.topic)
        rows += len(call.state.cluster.partitions.get(partition.topic, ()))
        if rows >= AT_ONCE:
            yield portion
            portion, rows = set(), 0
    if portion:
        yield portion


def _is_measured(call: CruiseControlCall, topic: str) -> bool:
    size_of = call.context.services.sizes.size
    return all(size_of(each.key) is not None for each in call.state.cluster.partitions.get(topic, ()))
