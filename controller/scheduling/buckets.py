"""Entries of the backlog: buckets of steps with the same rank and capacities, and their positions."""

from collections import deque
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from controller.model.cluster import TopicPartition
from controller.scheduling.limits import Capacity, Cost, Usage, capacities_of


class Rank(NamedTuple):
    """The first criterion of the order: smaller ranks start first; within a rank, lower waves do."""

    priority: int
    """The negated priority of the job."""
    healthy: bool
    """False for partitions that lack replicas: they are repaired first."""
    follows: bool
    """False for steps that move leadership: they start first, up to limit L."""


class Planned(NamedTuple):
    """The wave of a step in its job's plan, relative to the wave at which the plan was received."""

    job: int
    wave: int


class Bucket:
    """Steps of the same rank that take the same capacities, in order.

    It has one valid position, in the heap or parked.
    """

    __slots__ = ("cost", "keys", "last", "parked_at", "passed", "planned", "position", "rank", "wave")

    def __init__(self, rank: Rank, cost: Cost) -> None:
        self.rank, self.cost = rank, cost
        self.keys: deque[TopicPartition] = deque()
        self.planned: list[Step] = []
        """A heap of the steps that have a wave from a plan."""
        self.last = -1
        """The wave of the last step taken that had no wave of its own."""
        self.position = 0
        """The number of its valid position; positions with other numbers are void."""
        self.wave = 0
        """The wave of that position."""
        self.parked_at: Capacity | None = None
        """The exhausted capacity for which its steps wait."""
        self.passed = 0
        """Smaller steps that took that capacity since the last step of this bucket did."""


class Step(NamedTuple):
    """A step with a wave from a plan; `number` makes the order within a wave unique."""

    wave: int
    number: int
    key: TopicPartition
    bucket: Bucket


class Position(NamedTuple):
    """The position of a bucket in the order. `planned`: its first step has a wave from a plan."""

    rank: Rank
    wave: int
    number: int
    bucket: Bucket
    planned: bool


PASSES = 16
"""Smaller steps that may start before one that waits for more of the same capacity, which is then kept for
it."""


class Parking:
    """By capacity and by the amount needed of it: a heap of positions."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self.heaps: dict[Capacity, dict[int, list[Position]]] = {}
        self._firsts: list[tuple[Position, Capacity]] = []
        """A heap of the first positions that fitted when something of their capacity was freed."""

    def park(self, position: Position, capacity: Capacity) -> None:
        """Park the position at a capacity that its bucket's steps need."""
        amount = dict(capacities_of(position.bucket.cost))[capacity]
        heappush(self.heaps.setdefault(capacity, {}).setdefault(amount, []), position)

    @property
    def first(self) -> tuple[Position, Capacity] | None:
        """The first position whose steps fit, and where it is parked; None if there is none.

        Only capacities of which something was freed are looked at. The rank of the position decides, not the
        order in which they were freed: else a step of a low priority could take what one of a high priority
        needs, too.
        """
        firsts, freed = self._firsts, self._usage.freed
        for capacity in freed:
            if (position := self._first_at(capacity)) is not None:
                heappush(firsts, (position, capacity))
        freed.clear()
        while firsts:
            known, capacity = firsts[0]
            position = self._first_at(capacity)
            if position is known:
                return firsts[0]
            if position is None:
                heappop(firsts)
            else:
                heapreplace(firsts, (position, capacity))
        return None

    def take(self) -> Position | None:
        """Remove and return the first position whose steps fit; None if there is none."""
        first = self.first
        if first is None:
            return None
        heappop(self._firsts)
        position, capacity = first
        heappop(self.heaps[capacity][dict(capacities_of(position.bucket.cost))[capacity]])
        self._clear(capacity)
        self._usage.freed[capacity] = None  # another position may fit there
        return position

    def kept_from(self, position: Position) -> Capacity | None:
        """Return a capacity that is kept for an earlier position that was passed `PASSES` times, or None."""
        for capacity, _ in capacities_of(position.bucket.cost):
            for amount, positions in self.heaps.get(capacity, {}).items():
                first = positions[0]
                if (
                    first < position
                    and first.bucket.passed >= PASSES
                    and self._usage.exhausted(((capacity, amount),))
                ):
                    return capacity
        return None

    def passed_by(self, position: Position) -> None:
        """Count a pass for each earlier position that needs more of a capacity of this position."""
        position.bucket.passed = 0
        for capacity, _ in capacities_of(position.bucket.cost):
            for amount, positions in self.heaps.get(capacity, {}).items():
                if positions[0] < position and self._usage.exhausted(((capacity, amount),)):
                    positions[0].bucket.passed += 1

    def _first_at(self, capacity: Capacity) -> Position | None:
        """Return the first position there that fits and is not kept out by an earlier one."""
        self._clear(capacity)
        heaps = self.heaps.get(capacity, {})
        for amount in sorted(heaps, key=lambda amount: heaps[amount][0]):
            if not self._usage.exhausted(((capacity, amount),)):
                return heaps[amount][0]
            if heaps[amount][0].bucket.passed >= PASSES:
                break
        return None

    def _clear(self, capacity: Capacity) -> None:
        """Remove void positions from the heads of the heaps, and then empty heaps."""
        heaps = self.heaps.get(capacity, {})
        for amount in list(heaps):
            positions = heaps[amount]
            while positions and positions[0].number != positions[0].bucket.position:
                heappop(positions)
            if not positions:
                del heaps[amount]
        if not heaps:
            self.heaps.pop(capacity, None)
