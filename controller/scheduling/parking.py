"""Parked buckets: those whose steps wait for an exhausted capacity (`controller.scheduling.backlog`).

A step that needs several units of a capacity waits until they are free together. Meanwhile smaller steps pass
it, but only `PASSES` times; then the capacity is kept for it. The cost depends on the number of different
amounts that are waited for, not on the number of steps.
"""

from heapq import heappop, heappush

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

    def park(self, position: Position, capacity: Capacity) -> None:
        """Park the position at a capacity that its bucket's steps need."""
        amount = dict(capacities_of(position.bucket.cost))[capacity]
        heappush(self.heaps.setdefault(capacity, {}).setdefault(amount, []), position)

    def has_capacity(self, capacity: Capacity) -> bool:
        """Return whether the steps of a position parked there fit."""
        return self._next(capacity) is not None

    def take(self, capacity: Capacity) -> Position | None:
        """Remove and return the first position there whose steps fit; None if there is none."""
        amount = self._next(capacity)
        if amount is None:
            return None
        position = heappop(self.heaps[capacity][amount])
        self._clear(capacity)
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

    def _next(self, capacity: Capacity) -> int | None:
        """Return the amount of the first position there that fits and is not kept out by an earlier one."""
        self._clear(capacity)
        heaps = self.heaps.get(capacity, {})
        for amount in sorted(heaps, key=lambda amount: heaps[amount][0]):
            if not self._usage.exhausted(((capacity, amount),)):
                return amount
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
