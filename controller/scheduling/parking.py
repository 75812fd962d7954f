"""Parked buckets: those whose steps have no room in a place (`controller.scheduling.backlog`).

A step that needs several units of a place waits until they are free together. Meanwhile smaller steps pass
it, but only `PASSES` times; then the place is kept for it. The cost depends on the number of different
amounts that are waited for, not on the number of steps.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from controller.scheduling.buckets import Turn
from controller.scheduling.limits import Place, Usage, places

PASSES = 16
"""Smaller steps that may start before one that waits for more room in the same place; then the place is kept
for it."""


class Parking:
    """By place and by the amount needed of it: a heap of turns."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._heaps: dict[Place, dict[int, list[Turn]]] = {}

    def __iter__(self) -> Iterator[Place]:
        """The places with parked turns."""
        return iter(self._heaps)

    def park(self, turn: Turn, place: Place) -> None:
        """Park the turn at a place that its bucket's steps need."""
        amount = dict(places(turn.bucket.cost))[place]
        heappush(self._heaps.setdefault(place, {}).setdefault(amount, []), turn)

    def has_room(self, place: Place) -> bool:
        """Return whether a turn parked there has room."""
        return self._next(place) is not None

    def take(self, place: Place) -> Turn | None:
        """Remove and return the first turn there that has room; None if there is none."""
        amount = self._next(place)
        if amount is None:
            return None
        turn = heappop(self._heaps[place][amount])
        self._clear(place)
        return turn

    def kept_from(self, turn: Turn) -> Place | None:
        """Return a place that is kept for an earlier turn that was passed `PASSES` times, or None."""
        for place, _ in places(turn.bucket.cost):
            for amount, turns in self._heaps.get(place, {}).items():
                first = turns[0]
                if first < turn and first.bucket.passed >= PASSES and not self._usage.fits(place, amount):
                    return place
        return None

    def passed_by(self, turn: Turn) -> None:
        """Count a pass for each earlier turn that needs more room in a place of this turn."""
        turn.bucket.passed = 0
        for place, _ in places(turn.bucket.cost):
            for amount, turns in self._heaps.get(place, {}).items():
                if turns[0] < turn and not self._usage.fits(place, amount):
                    turns[0].bucket.passed += 1

    def _next(self, place: Place) -> int | None:
        """Return the amount of the first turn there that has room and is not kept out by an earlier one."""
        self._clear(place)
        heaps = self._heaps.get(place, {})
        for amount in sorted(heaps, key=lambda each: heaps[each][0]):
            if self._usage.fits(place, amount):
                return amount
            if heaps[amount][0].bucket.passed >= PASSES:
                break
        return None

    def _clear(self, place: Place) -> None:
        """Remove void turns from the heads of the heaps, and then empty heaps."""
        heaps = self._heaps.get(place, {})
        for amount in list(heaps):
            turns = heaps[amount]
            while turns and turns[0].number != turns[0].bucket.turn:
                heappop(turns)
            if not turns:
                del heaps[amount]
        if not heaps:
            self._heaps.pop(place, None)
