"""How many replicas, leaders and bytes each broker and each topic has.

One walk over all partitions counts for every broker and every topic. It runs in slices, and requests share
its result for a time that grows with the cluster, so that it costs half a percent of the time however many
clients ask. Each answer says what it is based on (`Basis`).
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Annotated

from msgspec import Meta, Struct

from common.clock import Clock, RealClock, wall_clock
from common.error_codes import ErrorCode
from common.tasks import in_slices, spawn
from controller.model.cluster import (
    NO_LEADER,
    Partition,
    Replicas,
    TopicPartition,
)
from controller.model.cluster import Broker as Registration
from controller.model.replicas import without
from controller.state.cluster import Disk
from controller.state.state import State
from controller.views.reassignments import ends_of
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from server.progress.rates import Sizes

SECONDS_PER_ROW = 300e-6
"""How long an inventory is used, for each partition and each reassignment in it. Counting one takes a
microsecond."""

SMALL = 1_000
"""An inventory of this many partitions is used once: it takes a millisecond or two."""

MAX_SECONDS = 60.0
"""The longest time that an inventory is used."""

ROWS_PER_SLICE = 500
"""Partitions that are counted in about a millisecond."""

_leader_of, _topic_of = itemgetter(4), itemgetter(0)


class Basis(Struct, frozen=True):
    """What the numbers of an answer are based on. Times are milliseconds since 1970."""

    counted_ms: Annotated[
        int, Meta(description="When replicas, leaders and bytes were counted. The rest of the answer is new.")
    ]
    seen_ms: Annotated[
        int | None,
        Meta(
            description="When Kafka was last asked for all topics before that; null where reassignd is the "
            "controller, so that the numbers are the cluster's own."
        ),
    ]
    sizes_ms: Annotated[int | None, Meta(description="When sizes were measured; null before that.")]


@dataclass(slots=True)
class BrokerNumbers:
    """What a broker holds. Replicas on their way to it count."""

    replicas: int = 0
    leaders: int = 0
    preferred: int = 0
    """Partitions whose preferred leader it is."""
    bytes: int = 0
    unsized: int = 0
    """Replicas of unknown size, which `bytes` lacks."""
    lagging: int = 0
    """Replicas that are not in sync, without those that are being added."""
    coming: int = 0
    """Replicas that it is to get by reassignments, in flight or not."""
    going: int = 0
    """Replicas that it is to lose."""


@dataclass(slots=True)
class TopicNumbers:
    """What a topic consists of."""

    partitions: int = 0
    least_replicas: int = 0
    most_replicas: int = 0
    bytes: int = 0
    """Of one replica of each partition."""
    replica_bytes: int = 0
    """Of all replicas."""
    unsized: int = 0
    """Partitions of unknown size."""
    offline: int = 0
    under_replicated: int = 0
    moving: int = 0
    """Partitions with a step in flight."""
    reassigning: int = 0
    """Partitions with a reassignment, in flight or not, external ones included."""


@dataclass(slots=True)
class Inventory:
    """The numbers at one time."""

    basis: Basis
    brokers: defaultdict[int, BrokerNumbers] = field(default_factory=lambda: defaultdict(BrokerNumbers))
    topics: dict[str, TopicNumbers] = field(default_factory=dict)
    disks: Mapping[int, Sequence[Disk]] = field(default_factory=dict)
    """The log directories by broker, as far as brokers report them."""


UNREGISTERED = Registration(-1, "", 0, None, 0)
"""Stands for the registration of a broker that only replica lists name."""


def known_brokers(state: State, inventory: Inventory) -> list[int]:
    """Return the brokers that are registered, or named, or hold replicas, in order of their ids."""
    holding = {broker for broker, each in inventory.brokers.items() if each.replicas}
    return sorted(state.cluster.brokers.keys() | state.cluster.unlisted_brokers | holding)


@dataclass(slots=True)
class _ByBroker:
    """Numbers by broker, as the walk over the partitions counts them."""

    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)
    preferred: Counter[int] = field(default_factory=Counter)
    bytes: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    unsized: Counter[int] = field(default_factory=Counter)

    def add_to(self, brokers: Mapping[int, BrokerNumbers]) -> None:
        """Add the numbers to those of the brokers."""
        for broker in self.replicas.keys() | self.leaders.keys():
            numbers = brokers[broker]
            numbers.replicas = self.replicas[broker]
            numbers.leaders = self.leaders[broker]
            numbers.preferred = self.preferred[broker]
            numbers.bytes = self.bytes[broker]
            numbers.unsized = self.unsized[broker]


class Inventories:
    """Counts, and keeps the last inventory.

    `owned` returns the brokers of this process, whose disks are asked for here; those of others are measured.
    """

    def __init__(
        self,
        state: State,
        sizes: Sizes,
        seen_ms: Callable[[], int | None],
        owned: Callable[[], Collection[int]] = tuple,
        clock: Clock | None = None,
    ) -> None:
        self._state, self._sizes, self._seen_ms, self._owned = state, sizes, seen_ms, owned
        self._clock = RealClock() if clock is None else clock
        self._inventory: Inventory | None = None
        self._valid_until = float("-inf")
        self._counting = asyncio.Lock()
        self._rows = 0
        """What the last inventory has counted."""
        self._renewal: asyncio.Task[None] | None = None

    async def recent(self) -> Inventory:
        """Return an inventory that may be shared with other requests."""
        async with self._counting:
            if self._inventory is None or self._clock.now() >= self._valid_until:
                return await self._keep_new()
            return self._inventory

    async def at_hand(self) -> Inventory:
        """Return the last inventory at once, however old; meanwhile a newer one is counted if it is too old.

        For answers that clients poll, and that say when their numbers were counted. That of a small cluster
        is new.
        """
        last = self._inventory
        if last is None or self._rows <= SMALL:
            return await self.recent()
        if self._clock.now() >= self._valid_until and (self._renewal is None or self._renewal.done()):
            self._renewal = spawn(self._renew(), "inventory")
        return last

    async def _renew(self) -> None:
        await self.recent()

    async def new(self) -> Inventory:
        """Return an inventory that was begun after this call."""
        async with self._counting:
            return await self._keep_new()

    async def _keep_new(self) -> Inventory:
        self._inventory = await self._count()
        numbers = self._inventory.topics.values()
        self._rows = sum(each.partitions + each.reassigning for each in numbers)
        seconds = 0.0 if self._rows <= SMALL else min(self._rows * SECONDS_PER_ROW, MAX_SECONDS)
        self._valid_until = self._clock.now() + seconds
        return self._inventory

    async def _count(self) -> Inventory:
        counted = _ByBroker()
        inventory = Inventory(Basis(wall_clock(), self._seen_ms(), self._sizes_ms()))
        async for topic, rows in self._slices():
            self._add(topic, rows, inventory.topics.setdefault(topic, TopicNumbers()), counted)
        del counted.leaders[NO_LEADER]
        counted.add_to(inventory.brokers)
        await self._add_unhealthy(inventory)
        await self._add_moves(inventory)
        inventory.disks = await self.disks()
        return inventory

    async def _slices(self) -> AsyncIterator[tuple[str, Sequence[Partition]]]:
        """Yield the partitions by topic. The event loop runs after about ROWS_PER_SLICE of them."""
        seen = 0
        for topic, partitions in list(self._state.cluster.partitions.items()):
            for start in range(0, max(1, len(partitions)), ROWS_PER_SLICE):
                rows = partitions[start : start + ROWS_PER_SLICE]
                yield topic, rows
                seen += len(rows) + 1
                if seen >= ROWS_PER_SLICE:
                    seen = 0
                    await asyncio.sleep(0)

    def _add(self, topic: str, rows: Sequence[Partition], numbers: TopicNumbers, counted: _ByBroker) -> None:
        """Add some partitions of a topic. A replica whose size is not reported has the leader's."""
        size_of, stored_of, new = self._sizes.size, self._sizes.stored, tuple.__new__
        by_broker, alike = counted.bytes, defaultdict[Replicas, int](int)
        lists = [row[2] for row in rows]
        counted.replicas.update(chain.from_iterable(lists))
        counted.leaders.update(map(_leader_of, rows))
        counted.preferred.update([replicas[0] for replicas in lists if replicas])
        keys = [new(TopicPartition, (topic, row[1])) for row in rows]
        for replicas, size, told in zip(lists, map(size_of, keys), map(stored_of, keys), strict=True):
            numbers.bytes += size or 0
            numbers.unsized += size is None
            if told is None and size is not None:
                alike[replicas] += size
                continue
            own = {} if told is None else dict(zip(told.brokers, told.sizes, strict=True))
            for broker in replicas:
                known = own.get(broker, size)
                if known is None:
                    counted.unsized[broker] += 1
                else:
                    by_broker[broker] += known
                    numbers.replica_bytes += known
        for replicas, total in alike.items():
            numbers.replica_bytes += total * len(replicas)
            for broker in replicas:
                by_broker[broker] += total
        # Without the replicas that a step adds: those that it drops are there until it ends.
        lengths = {len(row[2]) - len(row[7]) for row in rows} | (
            {numbers.least_replicas, numbers.most_replicas} - {0}
        )
        numbers.partitions += len(rows)
        numbers.least_replicas, numbers.most_replicas = min(lengths, default=0), max(lengths, default=0)

    async def _add_unhealthy(self, inventory: Inventory) -> None:
        cluster = self._state.cluster
        for topic, count in Counter(map(_topic_of, cluster.offline)).items():
            if topic in inventory.topics:
                inventory.topics[topic].offline = count
        async for topic, number in in_slices(list(cluster.under_replicated)):
            partition, numbers = cluster.partition(topic, number), inventory.topics.get(topic)
            if partition is not None and numbers is not None:
                numbers.under_replicated += 1
                for broker in without(partition.current, partition.isr):
                    inventory.brokers[broker].lagging += 1

    async def _add_moves(self, inventory: Inventory) -> None:
        state = self._state
        for topic, moving in state.in_flight.by_topic.items():
            if topic in inventory.topics:
                inventory.topics[topic].moving = len(moving)
        others = Counter(map(_topic_of, state.gateway.external))
        for topic, count in (state.orders.reassigning + others).items():
            if topic in inventory.topics:
                inventory.topics[topic].reassigning = count
        async for (current, ends), times in in_slices((await self._moves()).items()):
            for broker in {*chain.from_iterable(ends)}.difference(current):
                inventory.brokers[broker].coming += times
            for broker in without(current, ends[-1]):
                inventory.brokers[broker].going += times

    async def _moves(self) -> Counter[tuple[Replicas, tuple[Replicas, ...]]]:
        """Return how many partitions go from one replica list to others. Many have the same ones."""
        state, moves = self._state, Counter[tuple[Replicas, tuple[Replicas, ...]]]()
        others = state.orders.pending.keys() | state.gateway.external
        async for key in in_slices(others):
            if (partition := state.cluster.partition(*key)) is not None:
                moves[partition.current, ends_of(state, partition)] += 1
        # Most have a reassignment and nothing else: as `ends_of`, in a fraction of the time.
        partitions, records = state.cluster.partitions, list(state.orders.reassignments.values())
        for start in range(0, len(records), ROWS_PER_SLICE):
            rows = records[start : start + ROWS_PER_SLICE]
            if others:
                rows = [row for row in rows if row.key not in others]
            known = [(partitions.get(row.topic, ()), row.partition, row.target) for row in rows]
            moves.update([(own[at].current, (target,)) for own, at, target in known if at < len(own)])
            await asyncio.sleep(0)
        return moves

    async def disks(self) -> dict[int, Sequence[Disk]]:
        """Return the directories of brokers: of this process's as they are now, of others as measured."""
        disks: dict[int, Sequence[Disk]] = {}
        nothing = DescribeLogDirsRequest([])
        for broker in sorted(self._owned()):
            answer = await self._sizes.describe(broker, nothing)
            rows = () if answer is None else answer.results
            disks[broker] = [
                Disk(row.log_dir, row.total_bytes, row.usable_bytes, 0, row.is_cordoned)
                for row in rows
                if row.error_code == ErrorCode.NONE
            ]
            await asyncio.sleep(0)
        return disks or dict(self._state.cluster.disks)

    def _sizes_ms(self) -> int | None:
        measured = self._sizes.measured()
        return None if measured is None else wall_clock() - round((self._clock.now() - measured) * 1000)
