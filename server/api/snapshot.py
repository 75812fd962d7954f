"""`/v1/snapshot`: the cluster on paper, for `reassignd plan` (docs/planner.md has the format)."""

from collections.abc import Iterator
from typing import Any

from starlette.responses import Response

from controller.model.cluster import Partition
from controller.state.state import State
from server.api.call import Call
from server.api.streams import json_lines
from server.api.table import Endpoint
from server.ports import Sizes


async def snapshot(call: Call) -> Response:
    """Brokers, then partitions as they are after their last completed step."""
    return json_lines(rows(call.state, call.core.sizes))


def rows(state: State, sizes: Sizes) -> Iterator[dict[str, Any]]:
    """The lines, while the state may change."""
    for number, broker in sorted(state.brokers.items()):
        yield {
            "kind": "broker",
            "id": number,
            "rack": broker.rack,
            "live": number in state.live,
            "host": broker.host,
            "port": broker.port,
        }
    for topic, partitions in list(state.partitions.items()):
        for partition in list(partitions):
            if topic in state.topics:
                yield _row(state, partition, sizes.size(partition.key) or 0)


def _row(state: State, partition: Partition, size: int) -> dict[str, Any]:
    current = partition.current
    return {
        "kind": "partition",
        "topic": partition.topic,
        "partition": partition.partition,
        "replicas": current,
        "isr": [r for r in partition.isr if r in current],
        "leader": partition.leader,
        "bytes": size,
        "min_isr": state.min_isr(partition.topic),
    }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/snapshot",
        "List the brokers and partitions of the cluster.",
        snapshot,
        "SnapshotRow",
        lines=True,
    ),
)
