"""`/v1/snapshot`: the brokers and partitions as `reassignd plan` reads them (docs/planner.md)."""

from collections.abc import Iterator
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct
from starlette.responses import Response

from controller.model.cluster import Partition
from controller.state.state import State
from server.api.shared.answers import json_lines
from server.api.shared.call import Call, Endpoint
from server.api.shared.models import Replicas
from server.progress.rates import Sizes


class SnapshotCluster(Struct, tag_field="kind", tag="cluster"):
    """The cluster."""

    cluster_id: str


class SnapshotBroker(Struct, tag_field="kind", tag="broker"):
    """A broker."""

    id: int
    rack: str | None
    live: bool
    host: str
    port: int
    disk_bytes: Annotated[int | None, Meta(description="Size of its disks; null if it is not known.")]


class SnapshotPartition(Struct, tag_field="kind", tag="partition"):
    """A partition after its last completed step."""

    topic: str
    partition: int
    replicas: Replicas
    isr: Annotated[list[int], Meta(description="In-sync replicas.")]
    leader: int
    bytes: Annotated[int | None, Meta(description="Size of one replica; null if it is not known.")]
    min_isr: int
    target: Annotated[
        Replicas | None,
        Meta(
            description="Its replicas after the ongoing or queued reassignment, none if the topic waits "
            "for its"
            " deletion; null if the replicas stay."
        ),
    ]


SnapshotRow: TypeAlias = Annotated[
    SnapshotCluster | SnapshotBroker | SnapshotPartition,
    Meta(
        title="SnapshotRow", description="One line each: the cluster, then the brokers, then the partitions."
    ),
]


async def snapshot(call: Call) -> Response:
    """Return the cluster, the brokers, then the partitions as they are after their last completed step."""
    await call.refresh()
    return json_lines(rows(call.services.cluster_id(), call.state, call.services.sizes))


def rows(
    cluster_id: str, state: State, sizes: Sizes
) -> Iterator[SnapshotCluster | SnapshotBroker | SnapshotPartition]:
    """Yield the rows. The state may change in between."""
    yield SnapshotCluster(cluster_id)
    for number, broker in sorted(state.cluster.brokers.items()):
        live = number in state.cluster.live
        yield SnapshotBroker(number, broker.rack, live, broker.host, broker.port, _disk_bytes(state, number))
    for topic, partitions in list(state.cluster.partitions.items()):
        for partition in list(partitions):
            if topic in state.cluster.topics:
                yield _row(state, partition, sizes.size(partition.key))


def _disk_bytes(state: State, broker: int) -> int | None:
    """Return the size of the broker's disks, or None if one is not known.

    Brokers report them since Kafka 3.3 (KIP-827).
    """
    disks = state.cluster.disks.get(broker, ())
    return sum(disk.total for disk in disks) if disks and all(disk.total > 0 for disk in disks) else None


def _row(state: State, partition: Partition, size: int | None) -> SnapshotPartition:
    current = partition.current
    return SnapshotPartition(
        topic=partition.topic,
        partition=partition.partition,
        replicas=current,
        isr=[broker for broker in partition.isr if broker in current],
        leader=partition.leader,
        bytes=size,
        min_isr=state.settings.min_isr(partition.topic),
        target=_target(state, partition),
    )


def _target(state: State, partition: Partition) -> Replicas | None:
    key = partition.key
    if state.cluster.topics[partition.topic].deleting:
        return ()
    if (pending := state.orders.pending.get(key)) is not None:
        return pending.target
    if (reassignment := state.orders.reassignments.get(key)) is not None:
        return reassignment.target
    if key in state.gateway.external:
        return tuple(broker for broker in partition.replicas if broker not in partition.removing)
    return None


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/snapshot",
        "List the cluster, its brokers and its partitions.",
        snapshot,
        SnapshotRow,
        lines=True,
    ),
)
