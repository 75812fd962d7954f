"""Evens out the directories of one broker, also of one with thousands of replicas: moves, then exchanges.

As long as directories are outside of their ranges, the move that gains most for each byte is made: what it
gains is what they are nearer to their ranges. Where no move gains anything, two replicas are exchanged. Then
moves are undone, or made by a smaller replica, where ranges allow it. This ends because each round leaves
directories nearer to their ranges, or as near with fewer bytes.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np

from planner.proposals.disks.dir_task import DirTask, Targets
from planner.proposals.problem.arrays import Ints

Held = list[int]
"""Replicas in order of size, then of number: each is its size times how many there are, plus its number. With
pairs, the garbage collector would take longer than the search."""


class Swap(NamedTuple):
    """Two replicas that change places. Without an `other` one, the first alone moves to `target`."""

    item: int
    target: int
    other: int | None = None


def even_out(task: DirTask) -> Targets:
    """Return moves that bring directories into their ranges, or nearer to them, with few bytes."""
    plan = _Arrangement(task)
    while True:
        while (swap := plan.best_move() or plan.best_swap()) is not None:
            plan.make(swap)
        if not plan.trim():
            return plan.targets


class _Arrangement:
    """Where replicas are."""

    def __init__(self, task: DirTask) -> None:
        self._task, self._used = task, list(task.used)
        self._places = range(len(task.used))
        self._count = max(1, len(task.sizes))
        self._arrived = [0] * len(task.used)
        self._held: list[Held] = [[] for _ in task.used]
        self.targets: dict[int, int] = {}
        for item in sorted(range(len(task.sizes)), key=task.sizes.__getitem__):
            if task.sizes[item]:
                self._held[task.homes[item]].append(self._entry(item))

    def make(self, swap: Swap) -> None:
        """Make a move or an exchange."""
        source = self._place(swap.item)
        self._move(swap.item, swap.target)
        if swap.other is not None:
            self._move(swap.other, source)

    def best_move(self) -> Swap | None:
        """Return the move that gains most for each byte, and of several the largest; None if none gains."""
        best, rank = None, (0.0, 0)
        for source, target in self._pairs():
            points = self._points(source, target)
            if rank[0] > (points[0] > 0) + (points[1] > 0):
                continue  # A byte gains less here than the best one found so far.
            free, held = self._free(target), self._held[source]
            before = self._distance(source) + self._distance(target)
            for point in points:
                for size, item in self._around(held, min(point, free)):
                    gain = before - self._after(source, target, size) if size <= free else 0
                    if gain > 0 and (found := (gain / size, gain)) > rank:
                        best, rank = Swap(item, target), found
        return best

    def best_swap(self) -> Swap | None:
        """Return the exchange that gains most, and of several the one with the fewest bytes, or None."""
        best, rank = None, (0, 0)
        for source, target in self._pairs():
            for point in self._points(source, target):
                for first, second in self._exchanges(source, target, point):
                    gain = self._gain(source, target, first[0] - second[0])
                    if gain > 0 and (gain, -first[0] - second[0]) > rank:
                        best, rank = Swap(first[1], target, second[1]), (gain, -first[0] - second[0])
        return best

    def trim(self) -> bool:
        """Undo moves, or make them by smaller replicas, where no directory gets farther from its range."""
        changed = False
        for item in sorted(self.targets, key=lambda each: (-self._task.sizes[each], each)):
            home, target, size = self._task.homes[item], self.targets[item], self._task.sizes[item]
            if self._may_return(item, size):
                self._move(item, home)
                changed = True
            elif (smaller := self._substitute(item)) is not None:
                self._move(item, home)
                self._move(smaller, target)
                changed = True
        return changed

    def _may_return(self, item: int, size: int) -> bool:
        """Whether so many bytes of a move can return."""
        home, target = self._task.homes[item], self.targets[item]
        return self._used[home] + size <= self._task.limit(home) and self._gain(target, home, size) >= 0

    def _substitute(self, item: int) -> int | None:
        """Return the smallest replica of the same home that can move instead."""
        home, target, size = self._task.homes[item], self.targets[item], self._task.sizes[item]
        most = min(self._task.most[home] - self._used[home], self._used[target] - self._task.least[target])
        held = self._held[home]
        start = bisect_left(held, (size - max(0, most)) * self._count)
        for entry in held[start : bisect_left(held, size * self._count)]:
            smaller, other = divmod(entry, self._count)
            if self._task.homes[other] == home and self._may_return(item, size - smaller):
                return other
        return None

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield two directories if one of them is outside of its range so that a move may help.

        First those of which both are: there a byte gains most.
        """
        over = [used > most for used, most in zip(self._used, self._task.most, strict=True)]
        under = [used < least for used, least in zip(self._used, self._task.least, strict=True)]
        pairs = sorted(permutations(self._places, 2), key=lambda pair: -over[pair[0]] - under[pair[1]])
        for source, target in pairs:
            if (over[source] or under[target]) and self._held[source] and self._free(target) > 0:
                yield source, target

    def _points(self, source: int, target: int) -> tuple[int, int]:
        """Return where the gain of bytes from one directory to the other changes its slope.

        So much the source has above its range, and so much the target lacks.
        """
        over = max(0, self._used[source] - self._task.most[source])
        lack = max(0, self._task.least[target] - self._used[target])
        return over, lack

    def _exchanges(self, source: int, target: int, point: int) -> Iterator[tuple[tuple[int, int], ...]]:
        """Yield the best exchange that shifts `point` bytes or more, and the best that shifts less."""
        ours, theirs = self._held[source], self._held[target]
        if not theirs or self._room(source) <= 0:
            return
        given, taken = self._sizes(ours), self._sizes(theirs)
        above = np.searchsorted(taken, given - point, side="right")
        for index in (above - 1, above):
            partner = np.clip(index, 0, len(taken) - 1)
            shift = given - taken[partner]
            fits = (index >= 0) & (index < len(taken)) & (shift > 0)
            fits &= (given <= self._room(target)) & (taken[partner] <= self._room(source))
            fits &= self._used[target] + shift <= self._task.limit(target)
            if fits.any():
                gain = self._gains(source, target, shift)
                gain[~fits] = -1
                rows = np.flatnonzero(gain == gain.max())
                row = int(rows[np.argmin((given + taken[partner])[rows])])
                yield divmod(ours[row], self._count), divmod(theirs[int(partner[row])], self._count)

    def _gains(self, source: int, target: int, shift: Ints) -> Ints:
        """Return what each of these shifts gains."""
        task, before = self._task, self._distance(source) + self._distance(target)
        left, got = self._used[source] - shift, self._used[target] + shift
        after = np.maximum(0, np.maximum(left - task.most[source], task.least[source] - left))
        after += np.maximum(0, np.maximum(got - task.most[target], task.least[target] - got))
        gains: Ints = before - after
        return gains

    def _gain(self, source: int, target: int, size: int) -> int:
        """Return how much nearer to their ranges both are after a move of so many bytes."""
        return self._distance(source) + self._distance(target) - self._after(source, target, size)

    def _after(self, source: int, target: int, size: int) -> int:
        """Return how far both are outside of their ranges then. It is asked very often."""
        used, least, most = self._used, self._task.least, self._task.most
        left, got = used[source] - size, used[target] + size
        low, high = least[source] - left, left - most[source]
        after = low if low > 0 else max(0, high)
        low, high = least[target] - got, got - most[target]
        return after + (low if low > 0 else max(0, high))

    def _distance(self, place: int) -> int:
        return self._task.distance(place, self._used[place])

    def _room(self, place: int) -> int:
        """Return what else may arrive."""
        return self._task.room[place] - self._arrived[place]

    def _free(self, place: int) -> int:
        """Return how large another replica may be."""
        return min(self._room(place), self._task.limit(place) - self._used[place])

    def _place(self, item: int) -> int:
        return self.targets.get(item, self._task.homes[item])

    def _move(self, item: int, target: int) -> None:
        source, home, size = self._place(item), self._task.homes[item], self._task.sizes[item]
        held = self._held[source]
        del held[bisect_left(held, self._entry(item))]
        insort(self._held[target], self._entry(item))
        self._used[source] -= size
        self._used[target] += size
        if source != home:
            self._arrived[source] -= size
        if target != home:
            self._arrived[target] += size
            self.targets[item] = target
        else:
            del self.targets[item]

    def _entry(self, item: int) -> int:
        return self._task.sizes[item] * self._count + item

    def _around(self, held: Held, size: int) -> list[tuple[int, int]]:
        """Return size and number of the largest replica up to this size, and of the smallest above it."""
        index = bisect_left(held, (size + 1) * self._count)
        return [divmod(entry, self._count) for entry in held[max(0, index - 1) : index + 1]]

    def _sizes(self, held: Held) -> Ints:
        return np.array([entry // self._count for entry in held], np.int64)
