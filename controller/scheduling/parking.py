"""Parked buckets: those whose steps wait for an exhausted capacity (`controller.scheduling.backlog`).

A step that needs several units of a capacity waits until they are free together. Meanwhile smaller steps pass
it, but only `PASSES` times; then the capacity is kept for it. The cost depends on the number of different
amounts that are waited for, not on the number of steps.
"""

from heapq import heappop, heappush, heapreplace

from controller.scheduling.buckets import Position
from controller.scheduling.limits import Capacity, Usage, capacities_of

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

        Only capacities of which something was freed are looked at. The rank of the position decides, not the order in which
        they were freed: else a step of a low priority could take what one of a high priority needs, too.
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
