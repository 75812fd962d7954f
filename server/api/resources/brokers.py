"""`/v1/brokers`: what each broker holds, moves and has room for; and whether it can be stopped."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model.cluster import TopicPartition
from controller.state.cluster import Disk, total_bytes
from controller.state.state import State
from controller.views.jobs import broker_loads
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.inventory import UNREGISTERED, Basis, BrokerNumbers, Inventory, known_brokers
from server.api.shared.models import Page
from server.api.shared.partition_rows import has_or_gets
from server.progress.rates import SAMPLE_SECONDS

RECENT_MS = round(2 * SAMPLE_SECONDS * 1000)
"""Age up to which the last sample of the throughput stands for the present."""

NAMED = 5
"""Most partitions that the check of a drained broker names."""


class BrokerState(Enum):
    """The state of a broker."""

    LIVE = "live"
    SHUTTING_DOWN = "shutting down"
    OFFLINE = "offline"
    IDLE = "offline and empty"
    """It holds no replica and gets none: nothing waits for it."""


class LogDir(Struct):
    """A log directory of a broker."""

    path: str
    works: bool
    total: Annotated[
        int | None,
        Meta(description="Bytes of its disk; null if the broker does not report it (Kafka before 3.3)."),
    ]
    used: Annotated[int | None, Meta(description="Bytes of its disk that are not free.")]
    cordoned: Annotated[bool, Meta(description="It gets no new replicas (KIP-1066).")]
    excluded: Annotated[
        bool, Meta(description="Whether it is to get no new replicas (`reassignment.excluded.dirs`).")
    ]


class Broker(Struct):
    """A broker, and what it holds."""

    id: int
    host: Annotated[str, Meta(description="Empty for a broker that is not registered any more.")]
    port: int
    rack: str | None
    live: bool
    state: BrokerState
    replicas: Annotated[int, Meta(description="Its replicas, those that are being added included.")]
    leaders: int
    preferred: Annotated[int, Meta(description="Partitions whose preferred leader it is.")]
    bytes: Annotated[int, Meta(description="Bytes of its replicas, of those whose size is known.")]
    unsized: Annotated[int, Meta(description="Replicas of unknown size.")]
    lagging: Annotated[int, Meta(description="Replicas that are not in sync, without those being added.")]
    moving_in: Annotated[
        int, Meta(description="Replicas that steps in flight copy to it, as limit B counts.")
    ]
    moving_out: Annotated[int, Meta(description="Replicas that steps in flight copy from it.")]
    coming: Annotated[int, Meta(description="Replicas that it is to get, in flight or not.")]
    going: Annotated[int, Meta(description="Replicas that it is to lose.")]
    rate_in: Annotated[
        int | None, Meta(description="Bytes per second of moves to it; null while that is not known.")
    ]
    rate_out: Annotated[int | None, Meta(description="Bytes per second of moves from it.")]
    disk_total: Annotated[
        int | None, Meta(description="Bytes of all its disks; null if that of one is not known.")
    ]
    disk_used: Annotated[int | None, Meta(description="Bytes of them that are not free.")]
    cordoned: Annotated[
        bool | None,
        Meta(description="Whether all its log directories are cordoned; null if none is known."),
    ]
    excluded: Annotated[
        bool,
        Meta(description="Whether it gets no new partitions (`reassignment.excluded.brokers`)."),
    ]
    hidden: Annotated[
        bool, Meta(description="Clients of the gateway do not see it: its port cannot be opened.")
    ]
    empty: Annotated[
        bool,
        Meta(description="It holds no replica and gets none, as of `basis`. Ask `drained` before a stop."),
    ]
    log_dirs: list[LogDir]


class Brokers(Struct):
    """A page of brokers."""

    total: Annotated[int, Meta(description="Number of brokers that the parameters select, of all pages.")]
    brokers: list[Broker]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]
    basis: Basis


class BrokerDetail(Struct):
    """A broker."""

    broker: Broker
    basis: Basis


class Drained(Struct):
    """Whether a broker holds nothing, as the cluster shows at this moment."""

    broker: int
    drained: Annotated[bool, Meta(description="It holds no replica, and gets none.")]
    replicas: Annotated[int, Meta(description="Partitions with a replica on it, now or in their target.")]
    partitions: Annotated[list[str], Meta(description="The first five of them.")]
    stays_registered: Annotated[
        bool, Meta(description="Kafka keeps the broker registered after a stop, until it is unregistered.")
    ]


class BrokerSort(Enum):
    """The order of brokers."""

    ID = "id"
    RACK = "rack"
    REPLICAS = "replicas"
    LEADERS = "leaders"
    BYTES = "bytes"
    DISK = "disk"
    """By the used share of the disks."""
    MOVING = "moving"
    """By replicas that move to or from it."""
    RATE = "rate"
    """By bytes per second of moves to and from it."""


class BrokersPage(Page, forbid_unknown_fields=True):
    """Query parameters of the brokers."""

    q: Annotated[
        str | UnsetType, Meta(description="Only brokers whose id, host or rack contains this text.")
    ] = UNSET
    rack: Annotated[str | UnsetType, Meta(description="Only brokers of this rack.")] = UNSET
    state: Annotated[BrokerState | UnsetType, Meta(description="Only brokers in this state.")] = UNSET
    sort: Annotated[BrokerSort, Meta(description="The order of the brokers.")] = BrokerSort.ID
    descending: Annotated[bool, Meta(description="Reverse the order.")] = False


async def brokers(call: Call, page: BrokersPage) -> Brokers:
    """List brokers. Those that are registered no more, but hold replicas, are among them."""
    inventory = await call.services.inventories.recent()
    rows = [
        row for row in _rows(call, inventory, known_brokers(call.state, inventory)) if _selects(page, row)
    ]
    rows.sort(key=_KEYS[page.sort], reverse=page.descending)
    listed = rows[page.offset : page.offset + page.limit]
    return Brokers(len(rows), listed, page.next(len(listed), len(rows)), inventory.basis)


async def broker(call: Call) -> BrokerDetail:
    """Show a broker."""
    number = call.number("broker")
    inventory = await call.services.inventories.recent()
    if number not in known_brokers(call.state, inventory):
        raise HttpError(404, f"There is no broker {number}.")
    [found] = _rows(call, inventory, [number])
    return BrokerDetail(found, inventory.basis)


async def drained(call: Call) -> Drained:
    """Ask the cluster whether the broker holds nothing and gets nothing, so that it can be stopped."""
    number = call.number("broker")
    await call.refresh()
    held = await call.collect(_held(call.state, number))
    if not held and number not in call.state.cluster.brokers:
        raise HttpError(404, f"There is no broker {number}.")
    named = [str(key) for key in sorted(held)[:NAMED]]
    return Drained(number, not held, len(held), named, call.state.mode.is_gateway)


def _held(state: State, broker: int) -> Iterator[TopicPartition | None]:
    """Yield the partitions with a replica on the broker, now or in their target."""
    for partitions in list(state.cluster.partitions.values()):
        for partition in list(partitions):
            yield partition.key if has_or_gets(state, partition, broker) else None


class _Moves:
    """What moves to and from brokers now."""

    def __init__(self, call: Call) -> None:
        self._loads = {each.broker: each for each in broker_loads(call.state)}
        self._sample = call.services.progress.throughput.newest(RECENT_MS)
        self._live = call.state.cluster.live

    def replicas(self, broker: int) -> tuple[int, int]:
        """Return the replicas that steps in flight copy to and from the broker."""
        load = self._loads.get(broker)
        return (0, 0) if load is None else (load.incoming, load.outgoing)

    def rates(self, broker: int) -> tuple[int | None, int | None]:
        """Return the bytes per second to and from the broker; None if they are not known.

        The newest sample may be of the time before a broker has stopped.
        """
        if broker not in self._live:
            return (0, 0)
        incoming, outgoing = self.replicas(broker)
        if self._sample is None:
            return (None if incoming else 0, None if outgoing else 0)
        return (
            self._sample.incoming.get(broker, 0) if incoming else 0,
            self._sample.outgoing.get(broker, 0) if outgoing else 0,
        )


def _rows(call: Call, inventory: Inventory, brokers: Iterable[int]) -> list[Broker]:
    state, moves = call.state, _Moves(call)
    hidden, idle = set(call.services.hidden_brokers()), state.cluster.idle_brokers
    return [
        _row(call, inventory, moves, broker, _state(state, broker, idle), broker in hidden)
        for broker in brokers
    ]


def _row(
    call: Call, inventory: Inventory, moves: _Moves, number: int, condition: BrokerState, hidden: bool
) -> Broker:
    state, held = call.state, inventory.brokers.get(number, BrokerNumbers())
    registered = state.cluster.brokers.get(number, UNREGISTERED)
    disks = inventory.disks.get(number, ())
    total = total_bytes(disks)
    (moving_in, moving_out), (rate_in, rate_out) = moves.replicas(number), moves.rates(number)
    return Broker(
        id=number,
        host=registered.host,
        port=registered.port,
        rack=registered.rack,
        live=number in state.cluster.live,
        state=condition,
        replicas=held.replicas,
        leaders=held.leaders,
        preferred=held.preferred,
        bytes=held.bytes,
        unsized=held.unsized,
        lagging=held.lagging,
        moving_in=moving_in,
        moving_out=moving_out,
        coming=held.coming,
        going=held.going,
        rate_in=rate_in,
        rate_out=rate_out,
        disk_total=total,
        disk_used=None if total is None else total - sum(disk.usable for disk in disks),
        cordoned=all(disk.cordoned for disk in disks) if disks else None,
        excluded=number in state.settings.excluded_brokers,
        hidden=hidden,
        empty=not held.replicas and not held.coming,
        log_dirs=_log_dirs(call, number, disks),
    )


def _state(state: State, broker: int, idle: Collection[int]) -> BrokerState:
    if broker in state.cluster.shutting_down:
        return BrokerState.SHUTTING_DOWN
    if broker in state.cluster.live:
        return BrokerState.LIVE
    return BrokerState.IDLE if broker in idle else BrokerState.OFFLINE


def _log_dirs(call: Call, broker: int, disks: Sequence[Disk]) -> list[LogDir]:
    """Return the directories that the broker reports, and those that one of our own brokers does not."""
    excluded = call.state.settings.excluded_dirs.get(broker, ())
    rows = [_log_dir(disk, disk.path in excluded) for disk in disks]
    owned = call.services.brokers
    if owned is not None and broker in owned.brokers:
        told = {disk.path for disk in disks}
        rows += [
            LogDir(path, works, None, None, False, path in excluded)
            for path, works in owned.log_dirs(broker).items()
            if path not in told
        ]
    return rows


def _log_dir(disk: Disk, excluded: bool) -> LogDir:
    known = disk.total > 0
    used = disk.total - disk.usable if known else None
    return LogDir(disk.path, True, disk.total if known else None, used, disk.cordoned, excluded)


def _selects(page: BrokersPage, row: Broker) -> bool:
    return (
        (page.q is UNSET or _contains(row, page.q.lower()))
        and (page.rack is UNSET or row.rack == page.rack)
        and (page.state is UNSET or row.state is page.state)
    )


def _contains(row: Broker, text: str) -> bool:
    return text in str(row.id) or text in row.host.lower() or text in (row.rack or "").lower()


_KEYS: dict[BrokerSort, Callable[[Broker], Any]] = {
    BrokerSort.ID: lambda row: row.id,
    BrokerSort.RACK: lambda row: (row.rack or "", row.id),
    BrokerSort.REPLICAS: lambda row: (row.replicas, row.id),
    BrokerSort.LEADERS: lambda row: (row.leaders, row.id),
    BrokerSort.BYTES: lambda row: (row.bytes, row.id),
    BrokerSort.DISK: lambda row: ((row.disk_used or 0) / (row.disk_total or 1), row.id),
    BrokerSort.MOVING: lambda row: (row.moving_in + row.moving_out, row.id),
    BrokerSort.RATE: lambda row: ((row.rate_in or 0) + (row.rate_out or 0), row.id),
}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/brokers",
        "List the brokers, with what they hold and move.",
        brokers,
        Brokers,
        query=BrokersPage,
        shared=True,
    ),
    Endpoint("GET", "/v1/brokers/{broker}", "Get a broker.", broker, BrokerDetail, shared=True),
    Endpoint(
        "GET",
        "/v1/brokers/{broker}/drained",
        "Ask the cluster now whether a broker holds nothing, so that it can be stopped.",
        drained,
        Drained,
    ),
)
