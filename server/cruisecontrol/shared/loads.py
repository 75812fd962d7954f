"""What each broker holds and carries: as the cluster is, and as it will be after a plan.

Rates are bytes per second, None where they are not known. They count the leader's part and the followers'
part as Cruise Control does: what producers write to leaders, what followers fetch, what consumers read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from controller.model.load import LoadRow, Loads, Quality, Rates
from controller.model.plan import Entry
from controller.model.replicas import Replicas, without
from controller.state.cluster import Disk, total_bytes
from controller.state.state import State
from server.api.shared.inventory import UNREGISTERED, BrokerNumbers, Inventory, known_brokers
from server.api.shared.proposals import ProposedBroker, ProposedLoad
from server.cruisecontrol.shared.call import ClusterContext
from server.cruisecontrol.shared.capacities import KILOBYTE, MEGABYTE, UNKNOWN, Capacity

NOT_KNOWN = -1.0
"""In place of a number that is not known. Cruise Control sends it for a disk without a known size, and its UI
stops at an absent number."""


def cpu_weight(leader_in: float, bytes_out: float, follower_in: float = 0.0) -> float:
    """Return how much CPU these bytes per second take, without a unit, by Cruise Control's weights."""
    return 0.7 * leader_in + 0.15 * bytes_out + 0.15 * follower_in


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
    unsized: int = 0
    """Replicas of unknown size, which `bytes` lacks."""
    disks: Sequence[Disk] | None = ()
    """Its log directories; None after a plan that changes replicas of a broker with several of them."""

    @property
    def modelled_cpu(self) -> float | None:
        """Cruise Control's estimate of CPU use by bytes; a part of the whole without a unit."""
        if self.leader_in is None or self.follower_in is None or self.bytes_out is None:
            return None
        return cpu_weight(self.leader_in, self.bytes_out, self.follower_in)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.state != "DEAD"


class Load(Struct, kw_only=True):
    """What a broker or a host holds and carries. Rates are KB/s; what is not known is `NOT_KNOWN`."""

    host: str = field(name="Host")
    rack: str = field(name="Rack")
    replicas: int = field(name="Replicas")
    leaders: int = field(name="Leaders")
    disk: float = field(name="DiskMB")
    disk_percentage: float = field(name="DiskPct")
    disk_capacity: float = field(name="DiskCapacityMB")
    cpu: float = field(name="CpuPct")
    leader_in: float = field(name="LeaderNwInRate")
    follower_in: float = field(name="FollowerNwInRate")
    bytes_out: float = field(name="NwOutRate")
    potential_out: float = field(name="PnwOutRate")
    network_in: float = field(name="NetworkInCapacity")
    network_out: float = field(name="NetworkOutCapacity")
    cores: float = field(name="NumCore")


class DiskLoad(Struct):
    """A log directory of a broker."""

    disk: float = field(name="DiskMB")
    percentage: float = field(name="DiskPct")
    leaders: int = field(name="NumLeaderReplicas")
    replicas: int = field(name="NumReplicas")


class BrokerLoad(Load, kw_only=True):
    """A broker as Cruise Control shows it."""

    broker: int = field(name="Broker")
    state: str = field(name="BrokerState")
    disk_state: dict[str, DiskLoad] | UnsetType = field(name="DiskState", default=UNSET)


class HostLoad(Load, kw_only=True):
    """The brokers of a host together."""


class ClusterLoad(Struct):
    """All brokers, and the hosts that they run on."""

    hosts: list[HostLoad]
    brokers: Annotated[list[BrokerLoad], Meta(description="In order of their ids.")]


async def broker_rows(context: ClusterContext) -> list[BrokerRow]:
    """Return the brokers as the cluster is, in order of their ids."""
    return counted_rows(context, await context.services.inventories.recent())


def counted_rows(context: ClusterContext, inventory: Inventory) -> list[BrokerRow]:
    """Return the brokers with what the inventory has counted, in order of their ids."""
    state, loads = context.services.state, context.services.load
    measured = {} if loads is None else {row.broker: row for row in loads.by_broker()}
    limits = context.capacities()
    return [
        _row(state, inventory, broker, limits.of(broker), measured.get(broker, NOT_MEASURED))
        for broker in known_brokers(state, inventory)
    ]


NOT_MEASURED = LoadRow(None, None, None, Rates(), Quality.UNKNOWN, 0.0)


def _row(state: State, inventory: Inventory, broker: int, limits: Capacity, load: LoadRow) -> BrokerRow:
    registered = state.cluster.brokers.get(broker, UNREGISTERED)
    held = inventory.brokers.get(broker, BrokerNumbers())
    disks = inventory.disks.get(broker, ())
    capacity = total_bytes(disks)
    return BrokerRow(
        broker,
        registered.host,
        registered.rack or registered.host,
        "ALIVE" if broker in state.cluster.live else "DEAD",
        held.replicas,
        held.leaders,
        held.bytes,
        limits.disk if capacity is None else capacity,
        load.rates.bytes_in,
        load.replication_in,
        load.rates.bytes_out,
        load.potential_out,
        load.cpu,
        limits,
        held.unsized,
        disks,
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
    after = {each.broker: _after(row, each) for row, each in zip(before, figures, strict=True)}
    _carry_over(after, changes, loads)
    return before, list(after.values())


def elected_rows(
    before: Iterable[BrokerRow], changes: Sequence["Change"], loads: Loads | None
) -> list[BrokerRow]:
    """Return the brokers after elections: `changes` name other leaders, and the same replicas."""
    after = {row.id: replace(row) for row in before}
    for change in changes:
        for replicas, sign in ((change.before, -1), (change.after, 1)):
            if (row := after.get(replicas[0])) is not None:
                row.leaders += sign
    _carry_over(after, changes, loads)
    return list(after.values())


def _carry_over(rows: Mapping[int, BrokerRow], changes: Iterable["Change"], loads: Loads | None) -> None:
    """Move what the partitions carry to their next brokers."""
    for change in changes if loads is not None else ():
        rates = None if loads is None else loads.rates(change.topic, change.partition)
        if rates is not None:
            _move(rows, change.before, rates.bytes_in or 0.0, rates.bytes_out or 0.0, -1)
            _move(rows, change.after, rates.bytes_in or 0.0, rates.bytes_out or 0.0, 1)


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


def led_by(change: Change, leader: int) -> Change:
    """Return the change with this leader before it, if it has a replica."""
    if leader not in change.before:
        return change
    return replace(change, before=(leader, *without(change.before, (leader,))))


def _unknown(each: ProposedBroker) -> BrokerRow:
    state = "ALIVE" if each.live else "DEAD"
    return BrokerRow(each.broker, "", each.rack or "", state, 0, 0, 0, None)


def _after(row: BrokerRow, planned: ProposedBroker) -> BrokerRow:
    """Return a broker after the plan. The broker itself chooses the directory of a new replica."""
    after = _with(row, planned.after)
    if row.disks and (planned.gains or planned.losses):
        more = planned.after.bytes - planned.before.bytes
        [first, *others] = row.disks
        after.disks = None if others else [first._replace(usable=first.usable - more)]
    return after


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


def cluster_load(rows: Sequence[BrokerRow]) -> ClusterLoad:
    """Return the brokers as Cruise Control shows them."""
    by_host: dict[str, list[BrokerRow]] = {}
    for row in rows:
        by_host.setdefault(row.host, []).append(row)
    hosts = [HostLoad(**_figures(own)) for own in by_host.values()]
    return ClusterLoad(hosts, [BrokerLoad(broker=row.id, state=row.state, **_figures([row])) for row in rows])


def _figures(rows: Sequence[BrokerRow]) -> dict[str, Any]:
    """Return the fields of `Load` of the brokers of a host, or of one of them."""
    capacity, held = _total(row.capacity for row in rows), sum(row.bytes for row in rows)
    return {
        "host": rows[0].host,
        "rack": rows[0].rack,
        "replicas": sum(row.replicas for row in rows),
        "leaders": sum(row.leaders for row in rows),
        "disk": held / MEGABYTE,
        "disk_percentage": 100.0 * held / capacity if capacity else NOT_KNOWN,
        "disk_capacity": _in_units(capacity, MEGABYTE),
        "cpu": _in_units(_total(row.cpu for row in rows), len(rows) / 100),
        "leader_in": _in_units(_total(row.leader_in for row in rows), KILOBYTE),
        "follower_in": _in_units(_total(row.follower_in for row in rows), KILOBYTE),
        "bytes_out": _in_units(_total(row.bytes_out for row in rows), KILOBYTE),
        "potential_out": _in_units(_total(row.potential_out for row in rows), KILOBYTE),
        "network_in": _in_units(_total(row.limits.network_in for row in rows), KILOBYTE),
        "network_out": _in_units(_total(row.limits.network_out for row in rows), KILOBYTE),
        "cores": _in_units(_total(row.limits.cores for row in rows), 1),
    }


def _total(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if one is not known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _in_units(value: float | None, unit: float) -> float:
    return NOT_KNOWN if value is None else value / unit
