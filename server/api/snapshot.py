"""`/v1/snapshot`: the brokers and partitions as `reassignd plan` reads them (docs/planner.md)."""

from collections.abc import Iterator

from starlette.responses import Response

from controller.model.cluster import Partition
from controller.state.state import State
from server.api.call import Call
from server.api.models import SnapshotBroker, SnapshotPartition, SnapshotRow
from server.api.streams import json_lines
from server.api.table import Endpoint
from server.ports import Sizes


async def snapshot(call: Call) -> Response:
    """Return the brokers, then the partitions as they are after their last completed step."""
    return json_lines(rows(call.state, call.core.sizes))


def rows(state: State, sizes: Sizes) -> Iterator[SnapshotBroker | SnapshotPartition]:
    """Yield the rows. The state may change in between."""
    for number, broker in sorted(state.brokers.items()):
        yield SnapshotBroker(number, broker.rack, number in state.live, broker.host, broker.port)
    for topic, partitions in list(state.partitions.items()):
        for partition in list(partitions):
            if topic in state.topics:
                yield _row(state, partition, sizes.size(partition.key) or 0)


def _row(state: State, partition: Partition, size: int) -> SnapshotPartition:
    current = partition.current
    return SnapshotPartition(
        topic=partition.topic,
        partition=partition.partition,
        replicas=current,
        isr=[broker for broker in partition.isr if broker in current],
        leader=partition.leader,
        bytes=size,
        min_isr=state.min_isr(partition.topic),
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/snapshot",
        "List the brokers and partitions of the cluster.",
        snapshot,
        SnapshotRow,
        lines=True,
    ),
)
