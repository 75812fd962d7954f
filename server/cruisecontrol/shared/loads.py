"""What each broker holds and carries: as the cluster is, and as it will be after a plan.

Rates are bytes per second, None where they are not known. They count the leader's part and the followers'
part as Cruise Control does: what producers write to leaders, what followers fetch, what consumers read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from controller.model.cluster import Broker as Registration
from controller.model.load import LoadRow, Loads
from controller.model.plan import Entry
from controller.model.replicas import Replicas
from controller.state.cluster import Disk
from controller.state.state import State
from server.api.shared.call import ApiServices
from server.api.shared.inventory import BrokerNumbers
from server.api.shared.proposals import ProposedBroker, ProposedLoad
from server.cruisecontrol.shared.capacities import KILOBYTE, MEGABYTE, UNKNOWN, Capacities, Capacity

UNREGISTERED = Registration(-1, "", 0, None, 0)


@dataclass(slots=True)
class BrokerRow:
    """A broker. Rates and the capacity are None where they are not known."""

    id: int
    host: str
    rack: str
    state: str
    replicas: int
    leaders: int
    bytes: int
    capacity: int | None
    leader_in: float | None = None
    follower_in: float | None = None
    bytes_out: float | None = None
    potential_out: float | None = None
    """What consumers would read from it if it led all partitions of its replicas."""
    cpu: float | None = None
    """The fraction of its CPU in use."""
    limits: Capacity = UNKNOWN
    """What the file of capacities says of it."""

    @property
    def modelled_cpu(self) -> float | None:
        """Cruise Control's estimate of CPU use by bytes; a part of the whole without a unit."""
        if self.leader_in is None or self.follower_in is None or self.bytes_out is None:
            return None
        return 0.7 * self.leader_in + 0.15 * self.follower_in + 0.15 * self.bytes_out

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.state != "DEAD"


class BrokerLoad(Struct):
    """A broker as Cruise Control shows it. What is not known is left out; rates are in KB/s."""

    broker: int = field(name="Broker")
    host: str = field(name="Host")
    rack: str = field(name="Rack")
    state: str = field(name="BrokerState")
    replicas: int = field(name="Replicas")
    leaders: int = field(name="Leaders")
    disk: float = field(name="DiskMB")
    disk_percentage: float | UnsetType = field(name="DiskPct", default=UNSET)
    disk_capacity: float | UnsetType = field(name="DiskCapacityMB", default=UNSET)
    cpu: float | UnsetType = field(name="CpuPct", default=UNSET)
    leader_in: float | UnsetType = field(name="LeaderNwInRate", default=UNSET)
    follower_in: float | UnsetType = field(name="FollowerNwInRate", default=UNSET)
    bytes_out: float | UnsetType = field(name="NwOutRate", default=UNSET)
    potential_out: float | UnsetType = field(name="PnwOutRate", default=UNSET)
    network_in: float | UnsetType = field(name="NetworkInCapacity", default=UNSET)
    network_out: float | UnsetType = field(name="NetworkOutCapacity", default=UNSET)
    cores: float | UnsetType = field(name="NumCore", default=UNSET)
    disk_state: dict[str, "DiskLoad"] | UnsetType = field(name="DiskState", default=UNSET)


class DiskLoad(Struct):
    """A log directory of a broker."""

    disk: float = field(name="DiskMB")
    percentage: float = field(name="DiskPct")


class HostLoad(Struct):
    """The brokers of a host together."""

    host: str = field(name="Host")
    rack: str = field(name="Rack")
    replicas: int = field(name="Replicas")
    leaders: int = field(name="Leaders")
    disk: float = field(name="DiskMB")


class ClusterLoad(Struct):
    """All brokers, and the hosts that they run on."""

    hosts: list[HostLoad]
    brokers: Annotated[list[BrokerLoad], Meta(description="In order of their ids.")]


async def broker_rows(services: ApiServices, capacities: Capacities) -> list[BrokerRow]:
    """Return the brokers as the cluster is, in order of their ids."""
    inventory = await services.inventories.recent()
    state = services.state
    measured = {} if services.load is None else {row.broker: row for row in services.load.by_broker()}
    holding = {broker for broker, each in inventory.brokers.items() if each.replicas}
    known = sorted(state.cluster.brokers.keys() | state.cluster.unlisted_brokers | holding)
    numbers = inventory.brokers
    rows = [
        _row(state, each, numbers.get(each, BrokerNumbers()), inventory.disks, measured) for each in known
    ]
    for row in rows:
        row.limits = capacities.of(row.id)
        row.capacity = row.capacity if row.capacity is not None else row.limits.disk
    return rows


def _row(
    state: State,
    broker: int,
    held: BrokerNumbers,
    disks: Mapping[int, Sequence[Disk]],
    measured: Mapping[int | None, LoadRow],
) -> BrokerRow:
    registered = state.cluster.brokers.get(broker, UNREGISTERED)
    own = disks.get(broker, ())
    capacity = sum(disk.total for disk in own) if own and all(disk.total > 0 for disk in own) else None
    load = measured.get(broker)
    return BrokerRow(
        broker,
        registered.host,
        registered.rack or registered.host,
        "ALIVE" if broker in state.cluster.live else "DEAD",
        held.replicas,
        held.leaders,
        held.bytes,
        capacity,
        None if load is None else load.rates.bytes_in,
        None if load is None else load.replication_in,
        None if load is None else load.rates.bytes_out,
        None if load is None else load.potential_out,
        None if load is None else load.cpu,
    )


def planned_rows(
    now: Iterable[BrokerRow],
    figures: Sequence[ProposedBroker],
    changes: Iterable["Change"],
    loads: Loads | None,
) -> tuple[list[BrokerRow], list[BrokerRow]]:
    """Return the brokers before and after a plan; both have the same brokers.

    What a partition's broker carries moves with the partition. So the rates after the plan are as good as
    those before it.
    """
    present = {row.id: row for row in now}
    before = [_with(present.get(each.broker) or _unknown(each), each.before) for each in figures]
    after = {each.broker: _with(row, each.after) for row, each in zip(before, figures, strict=True)}
    for change in changes if loads is not None else ():
        rates = None if loads is None else loads.rates(change.topic, change.partition)
        if rates is not None:
            _move(after, change.before, rates.bytes_in or 0.0, rates.bytes_out or 0.0, -1)
            _move(after, change.after, rates.bytes_in or 0.0, rates.bytes_out or 0.0, 1)
    return before, list(after.values())


@dataclass(frozen=True, slots=True)
class Change:
    """A partition that a plan changes; the first replica of a list leads."""

    topic: str
    partition: int
    before: Replicas
    after: Replicas


def changes_of(plan: Iterable[Entry], rollback: Iterable[Entry]) -> list[Change]:
    """Return the changes of a plan; `rollback` has the present replicas of the same partitions."""
    old = {(entry.topic, entry.partition): entry.replicas for entry in rollback}
    return [
        Change(entry.topic, entry.partition, old[entry.topic, entry.partition], entry.replicas)
        for entry in plan
    ]


def _unknown(each: ProposedBroker) -> BrokerRow:
    state = "ALIVE" if each.live else "DEAD"
    return BrokerRow(each.broker, "", each.rack or "", state, 0, 0, 0, None)


def _with(row: BrokerRow, held: ProposedLoad) -> BrokerRow:
    return replace(row, replicas=held.replicas, leaders=held.leaders, bytes=held.bytes)


def _move(rows: Mapping[int, BrokerRow], replicas: Replicas, written: float, read: float, sign: int) -> None:
    for place, broker in enumerate(replicas):
        row = rows.get(broker)
        if row is None:
            continue
        row.potential_out = _sum(row.potential_out, sign * read)
        if place:
            row.follower_in = _sum(row.follower_in, sign * written)
        else:
            row.leader_in = _sum(row.leader_in, sign * written)
            row.bytes_out = _sum(row.bytes_out, sign * read)


def _sum(known: float | None, more: float) -> float | None:
    """Return the sum, which rounding must not make negative; what is not known stays so."""
    return None if known is None else max(0.0, known + more)


def cluster_load(rows: Sequence[BrokerRow], disks: Mapping[int, Sequence[Disk]] | None = None) -> ClusterLoad:
    """Return the brokers as Cruise Control shows them, with their directories if these are given."""
    hosts: dict[str, HostLoad] = {}
    for row in rows:
        host = hosts.setdefault(row.host, HostLoad(row.host, row.rack, 0, 0, 0.0))
        host.replicas += row.replicas
        host.leaders += row.leaders
        host.disk += row.bytes / MEGABYTE
    loads = [_shown(row) for row in rows]
    for load in loads if disks is not None else ():
        load.disk_state = {disk.path: _disk(disk) for disk in (disks or {}).get(load.broker, ())}
    return ClusterLoad(list(hosts.values()), loads)


def _disk(disk: Disk) -> DiskLoad:
    used = disk.total - disk.usable if disk.total > 0 else 0
    return DiskLoad(used / MEGABYTE, 100.0 * used / disk.total if disk.total > 0 else 0.0)


def _shown(row: BrokerRow) -> BrokerLoad:
    capacity = row.capacity
    return BrokerLoad(
        row.id,
        row.host,
        row.rack,
        row.state,
        row.replicas,
        row.leaders,
        row.bytes / MEGABYTE,
        UNSET if not capacity else 100.0 * row.bytes / capacity,
        UNSET if capacity is None else capacity / MEGABYTE,
        UNSET if row.cpu is None else 100.0 * row.cpu,
        _rate(row.leader_in),
        _rate(row.follower_in),
        _rate(row.bytes_out),
        _rate(row.potential_out),
        _rate(row.limits.network_in),
        _rate(row.limits.network_out),
        UNSET if row.limits.cores is None else row.limits.cores,
    )


def _rate(rate: float | None) -> float | UnsetType:
    return UNSET if rate is None else rate / KILOBYTE
