"""`/v1/snapshot`: the brokers and partitions as `reassignd plan` reads them (docs/planner.md)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field
from starlette.responses import Response

from controller.execution.cordons import is_cordoned
from controller.model.cluster import Partition
from controller.model.disks import BrokerReplica, MoveStage
from controller.model.load import Loads
from controller.model.replicas import NOTHING_STORED, StoredReplicas, TopicPartition
from controller.state.cluster import Disk, total_bytes
from controller.state.disks import Moves
from controller.state.state import State
from controller.views.reassignments import ends_of
from server.api.shared.answers import json_lines
from server.api.shared.call import Call, Endpoint
from server.api.shared.models import Replicas
from server.progress.rates import Sizes


class SnapshotCluster(Struct, tag_field="kind", tag="cluster"):
    """The cluster."""

    cluster_id: str


class SnapshotLogDir(Struct):
    """A log directory of a broker. Sizes are null if the broker does not report them."""

    total: Annotated[int | None, Meta(description="Bytes of its volume.")]
    usable: Annotated[int | None, Meta(description="Free bytes of its volume.")]
    cordoned: Annotated[bool, Meta(description="It gets no new replica (KIP-1066).")]


class SnapshotBroker(Struct, tag_field="kind", tag="broker"):
    """A broker."""

    id: int
    rack: str | None
    live: bool
    host: str
    port: int
    disk_bytes: Annotated[int | None, Meta(description="Size of its disks; null if it is not known.")]
    dirs: Annotated[
        dict[str, SnapshotLogDir] | None,
        Meta(description="Its log directories by path; null if they are not known."),
    ]
    excluded: Annotated[
        bool, Meta(description="It gets no new partitions (`reassignment.excluded.brokers`).")
    ]
    cordoned: Annotated[bool, Meta(description="None of its directories gets new replicas (KIP-1066).")]


class SnapshotPartition(Struct, tag_field="kind", tag="partition", omit_defaults=True):
    """A partition after its last completed step. Loads in bytes per second are left out if not known."""

    topic: str
    partition: int
    replicas: Replicas
    isr: Annotated[Replicas, Meta(description="In-sync replicas.")]
    leader: int
    bytes: Annotated[
        int | None,
        Meta(description="Size of the leader's replica, which a copy has; null if it is not known."),
    ]
    min_isr: int
    target: Annotated[
        Replicas | None,
        Meta(
            description="Its replicas after the ongoing or queued reassignment, none if the topic waits "
            "for its"
            " deletion; null if the replicas stay."
        ),
    ]
    sizes: Annotated[
        tuple[int | None, ...] | None,
        Meta(description="What the broker of each replica reports for it; null where it is not known."),
    ]
    log_dirs: Annotated[
        tuple[str | None, ...] | None,
        Meta(description="The log directory of each replica; null where it is not known."),
    ]
    tiered: Annotated[
        bool, Meta(description="A part of its log is in remote storage, which no size counts (KIP-405).")
    ]
    meanwhile: Annotated[
        Replicas,
        Meta(description="Other brokers that hold a replica, or get one, until `target` is reached."),
    ] = ()
    failed: Annotated[
        Replicas,
        Meta(description="Replicas whose log directory has failed, although their broker is live."),
    ] = ()
    next_dirs: Annotated[
        tuple[str | None, ...],
        Meta(description="The log directory to which each replica moves on its broker; null where it stays."),
    ] = ()
    bytes_in: Annotated[float | None, Meta(description="What producers write.")] = field(
        name="in", default=None
    )
    bytes_out: Annotated[float | None, Meta(description="What consumers read.")] = field(
        name="out", default=None
    )
    busy_in: Annotated[float | None, Meta(description="`in` in the busy hour of the cluster.")] = field(
        name="in_busy", default=None
    )
    busy_out: Annotated[float | None, Meta(description="`out` in the busy hour of the cluster.")] = field(
        name="out_busy", default=None
    )
    mean_in: Annotated[float | None, Meta(description="Mean of `in` over the hours of the day.")] = field(
        name="in_mean", default=None
    )
    mean_out: Annotated[float | None, Meta(description="Mean of `out` over the hours of the day.")] = field(
        name="out_mean", default=None
    )


SnapshotRow: TypeAlias = Annotated[
    SnapshotCluster | SnapshotBroker | SnapshotPartition,
    Meta(
        title="SnapshotRow", description="One line each: the cluster, then the brokers, then the partitions."
    ),
]


async def snapshot(call: Call) -> Response:
    """Return the cluster, the brokers, then the partitions as they are after their last completed step."""
    await call.refresh()
    services = call.services
    disks = await services.inventories.disks()
    return json_lines(rows(services.cluster_id(), call.state, services.sizes, services.load, disks))


def rows(
    cluster_id: str,
    state: State,
    sizes: Sizes,
    load: Loads | None,
    disks_of: Mapping[int, Sequence[Disk]] | None = None,
) -> Iterator[SnapshotCluster | SnapshotBroker | SnapshotPartition]:
    """Yield the rows, without loads if `load` is None. The state may change in between.

    `disks_of` has the directories of brokers; None: those that were measured.
    """
    disks_of = state.cluster.disks if disks_of is None else disks_of
    yield SnapshotCluster(cluster_id)
    for number, broker in sorted(state.cluster.brokers.items()):
        live, disks = number in state.cluster.live, disks_of.get(number, ())
        where = broker.host, broker.port
        closed = number in state.settings.excluded_brokers, is_cordoned(state, number)
        yield SnapshotBroker(number, broker.rack, live, *where, total_bytes(disks), _dirs(disks), *closed)
    for topic, partitions in list(state.cluster.partitions.items()):
        for row in _partitions(state, topic, list(partitions), sizes):
            if load is not None and (rates := load.rates(topic, row.partition)) is not None:
                row.bytes_in, row.bytes_out, row.busy_in, row.busy_out, row.mean_in, row.mean_out = rates
            yield row


def _dirs(disks: Sequence[Disk]) -> dict[str, SnapshotLogDir] | None:
    """Return the directories of a broker, or None if none is known."""
    known = [(disk, disk.total > 0) for disk in disks]
    return {
        disk.path: SnapshotLogDir(
            disk.total if sized else None, disk.usable if sized else None, disk.cordoned
        )
        for disk, sized in known
    } or None


def _partitions(
    state: State, topic: str, partitions: Sequence[Partition], sizes: Sizes
) -> Iterator[SnapshotPartition]:
    """Yield the rows of a topic, until it is deleted.

    There may be a million of them, so fields that few rows have are computed only for those.
    """
    cluster, stored_of = state.cluster, sizes.stored
    min_isr, tiered = state.settings.min_isr(topic), state.settings.is_tiered(topic)
    moving = state.disks.open
    for partition in partitions:
        if topic not in cluster.topics:
            return
        current, isr, leader, key = partition.current, partition.isr, partition.leader, partition.key
        stored = stored_of(key) or NOTHING_STORED
        size = stored.bytes_on(leader)
        own, log_dirs = _stored(stored, current)
        target = _target(state, partition, key)
        yield SnapshotPartition(
            topic,
            partition.partition,
            current,
            isr if isr == current else tuple(broker for broker in isr if broker in current),
            leader,
            sizes.size(key) if size is None else size,
            min_isr,
            target,
            own,
            log_dirs,
            tiered,
            () if target is None and not partition.moving else _meanwhile(state, partition, target),
            cluster.failed_replicas(partition) if key in cluster.failed else (),
            _next_dirs(moving, key, current) if moving else (),
        )


def _next_dirs(moving: Moves, key: TopicPartition, current: Replicas) -> tuple[str | None, ...]:
    """Return where each replica moves to; a cancelled move returns to its source."""
    moves = [moving.get(BrokerReplica(*key, broker)) for broker in current]
    if not any(moves):
        return ()
    return tuple(
        move and (move.source if move.stage is MoveStage.RETURNING else move.target) for move in moves
    )


def _stored(
    stored: StoredReplicas, current: Replicas
) -> tuple[tuple[int | None, ...] | None, tuple[str | None, ...] | None]:
    """Return the sizes and the log directories of these replicas, None in place of what is not known."""
    if stored.brokers == current:
        return stored.sizes, stored.log_dirs
    own = [stored.on(broker) for broker in current]
    if not any(own):
        return None, None
    return tuple(each and each.bytes for each in own), tuple(each and each.log_dir for each in own)


def _target(state: State, partition: Partition, key: TopicPartition) -> Replicas | None:
    if state.cluster.topics[partition.topic].deleting:
        return ()
    if (pending := state.orders.pending.get(key)) is not None:
        return pending.target
    if (reassignment := state.orders.reassignments.get(key)) is not None:
        return reassignment.target
    if key in state.gateway.external:
        return tuple(broker for broker in partition.replicas if broker not in partition.removing)
    return None


def _meanwhile(state: State, partition: Partition, target: Replicas | None) -> Replicas:
    """Return the brokers of a step that is being undone, and of a rollback before a queued plan."""
    every = {*partition.replicas, *chain.from_iterable(ends_of(state, partition))}
    return tuple(sorted(every.difference(partition.current, target or ())))


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
