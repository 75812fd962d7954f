"""Buckets of steps that wait because a place has no room for them (`controller.scheduling.backlog`).

A step that needs several of a place waits until they are free together. Smaller ones that fit pass it meanwhile, but only
`PASSES` times: then the place is kept for it. What that costs grows with how many different amounts are waited for,
not with how many steps wait.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from controller.scheduling.buckets import Turn
from controller.scheduling.limits import Place, Usage, places

PASSES = 16
"""Steps that start past one that waits for more room in the same place, before the place is kept for that one."""


class Parking:
    """By the place without room, and by how much of it is needed: turns, the first in front."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._heaps: dict[Place, dict[int, list[Turn]]] = {}

    def __iter__(self) -> Iterator[Place]:
        """The places at which something waits."""
        return iter(self._heaps)

    def park(self, turn: Turn, place: Place) -> None:
        """The turn's bucket waits for room in this place, of which it needs some."""
        amount = dict(places(turn.bucket.cost))[place]
        heappush(self._heaps.setdefault(place, {}).setdefault(amount, []), turn)

    def has_room(self, place: Place) -> bool:
        """A bucket that waits there could go on."""
        return self._next(place) is not None

    def take(self, place: Place) -> Turn | None:
        """The first turn there that has room, which leaves; None when there is none."""
        amount = self._next(place)
        if amount is None:
            return None
        turn = heappop(self._heaps[place][amount])
        self._clear(place)
        return turn

    def kept_from(self, turn: Turn) -> Place | None:
        """A place that is kept for a turn before this one, which needs more room and was passed often enough."""
        for place, _ in places(turn.bucket.cost):
            for amount, turns in self._heaps.get(place, {}).items():
                first = turns[0]
                if first < turn and first.bucket.passed >= PASSES and not self._usage.fits(place, amount):
                    return place
        return None

    def passed_by(self, turn: Turn) -> None:
        """A step of this turn starts: it passes those before it that need more room in one of its places."""
        turn.bucket.passed = 0
        for place, _ in places(turn.bucket.cost):
            for amount, turns in self._heaps.get(place, {}).items():
                if turns[0] < turn and not self._usage.fits(place, amount):
                    turns[0].bucket.passed += 1

    def _next(self, place: Place) -> int | None:
        """How much the first turn needs that has room there, and that no earlier one keeps the place from."""
        self._clear(place)
        heaps = self._heaps.get(place, {})
        for amount in sorted(heaps, key=lambda each: heaps[each][0]):
            if self._usage.fits(place, amount):
                return amount
            if heaps[amount][0].bucket.passed >= PASSES:
                break
        return None

    def _clear(self, place: Place) -> None:
        """Drop void turns in front, and what is empty then."""
        heaps = self._heaps.get(place, {})
        for amount in list(heaps):
            turns = heaps[amount]
            while turns and turns[0].number != turns[0].bucket.turn:
                heappop(turns)
            if not turns:
                del heaps[amount]
        if not heaps:
            self._heaps.pop(place, None)
