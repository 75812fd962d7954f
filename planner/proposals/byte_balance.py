"""Even out the bytes of brokers after replicas have their places.

A plan with given counts and even bytes is a knapsack problem, so this is a heuristic: a broker with too many bytes and one with
too few exchange two replicas, or one replica changes its broker where the counts allow it. Replicas that move anyway come first:
they cost nothing. Each exchange makes bytes more even, so it ends.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.arrays import Ints
from planner.proposals.class_flow import Input
from planner.proposals.quotas import Shares
from planner.proposals.table import per_broker

PARTNERS = 24
"""Small replicas of the light broker that are considered in an exchange."""
LIGHTEST = 12
"""Brokers that are tried as partners of a broker with too many bytes."""


class Budget(NamedTuple):
    """Moves and bytes that an exchange may add to the plan."""

    moves: int
    bytes: int


class Kind(NamedTuple):
    """Which replicas an exchange takes: moving ones or those that stay, on either side."""

    moving: bool
    back: bool | None
    """Whether the other replica is moving; None if only one replica changes its broker."""


KINDS = (
    Kind(True, None),
    Kind(True, True),
    Kind(False, None),
    Kind(True, False),
    Kind(False, True),
    Kind(False, False),
)
"""In order of preference: by the moves that they add."""


def even_bytes(given: Input, sets: Ints, shares: Shares, budget: Budget) -> Ints:
    """Return sets with more even bytes. Counts stay in the ranges where they are, and the rack rule is kept.

    `sets` has kept replicas at their positions in the lists. No broker receives that may not.
    """
    return _Balance(given, sets, shares, budget).solve()


class _Balance:
    def __init__(self, given: Input, sets: Ints, shares: Shares, budget: Budget) -> None:
        self._given, self._layout, self._ranges = given, given.layout, given.ranges
        self._sets = sets.copy()
        self._width = sets.shape[1]
        self._old = np.full(sets.shape, -1, np.int64)
        self._old[:, : given.lists.shape[1]] = given.lists
        self._held = shares.fixed + per_broker(sets, given.bytes, self._layout.size)
        self._counts = given.fixed + per_broker(sets, None, self._layout.size)
        self._moves, self._bytes = budget
        self._least, self._most = shares.least, shares.most
        self._entries = self._sorted_entries()

    def solve(self) -> Ints:
        stuck = np.zeros(self._layout.size, np.bool_)
        receives = self._layout.receives
        while True:
            over = np.where(receives & ~stuck, self._held - self._most, 0)
            lack = np.where(receives & ~stuck, self._least - self._held, 0)
            heavy, light = int(over.argmax()), int(lack.argmax())
            if over[heavy] <= 0 and lack[light] <= 0:
                return self._sets
            improved = self._relieve(heavy) if over[heavy] >= lack[light] else self._supply(light)
            if not improved:
                stuck[heavy if over[heavy] >= lack[light] else light] = True

    # ---- pairs of brokers -----------------------------------------------------------------------------------------

    def _relieve(self, heavy: int) -> bool:
        """Find a partner with room for a broker with too many bytes."""
        room = np.where(self._layout.receives, self._most - self._held, -1)
        room[heavy] = -1
        partners = np.argsort(-room, kind="stable")[:LIGHTEST]
        return any(self._exchange(heavy, int(light)) for light in partners if room[light] > 0)

    def _supply(self, light: int) -> bool:
        """Find a partner with bytes to spare for a broker with too few."""
        spare = np.where(self._layout.receives, self._held - self._least, -1)
        spare[light] = -1
        partners = np.argsort(-spare, kind="stable")[:LIGHTEST]
        return any(self._exchange(int(heavy), light) for heavy in partners if spare[heavy] > 0)

    def _exchange(self, heavy: int, light: int) -> bool:
        """Shift bytes from one broker to the other, as cheaply as possible. Return whether any were shifted."""
        over = max(0, int(self._held[heavy] - self._most[heavy]))
        lack = max(0, int(self._least[light] - self._held[light]))
        limit = int(min(self._held[heavy] - self._least[heavy], self._most[light] - self._held[light]))
        wanted = min(over, lack) if over and lack else max(over, lack)
        if limit <= 0:
            limit = wanted
        wanted = min(wanted, limit)
        return any(self._try(kind, heavy, light, wanted, limit) for kind in KINDS)

    def _try(self, kind: Kind, heavy: int, light: int, wanted: int, limit: int) -> bool:
        if kind.back is None and not self._counts_allow(heavy, light):
            return False
        large = self._entries[heavy][kind.moving]
        if not len(large):
            return False
        sizes = self._sizes(large)
        if kind.back is None:
            small, back_sizes = np.full(1, -1), np.zeros(1, np.int64)
        else:
            small = self._entries[light][kind.back][:PARTNERS]
            back_sizes = self._sizes(small)
        if not len(small):
            return False
        at = np.searchsorted(sizes, back_sizes + wanted)
        near = np.clip(at[:, None] + np.arange(-3, 3), 0, len(large) - 1)
        shift = sizes[near] - back_sizes[:, None]
        # At least a third of what is wanted, so that few exchanges suffice; never more than both can bear.
        fits = (shift * 3 >= wanted) & (shift > 0) & (shift <= limit)
        for position in np.argsort(
            np.where(fits, np.abs(shift - wanted), np.iinfo(np.int64).max), axis=None, kind="stable"
        )[:16].tolist():
            row, column = divmod(position, near.shape[1])
            if not fits[row, column]:
                return False
            if self._swap(int(large[near[row, column]]), int(small[row]), heavy, light):
                return True
        return False

    def _counts_allow(self, heavy: int, light: int) -> bool:
        if self._ranges is None:
            return True
        return bool(
            self._counts[heavy] > self._ranges.least[heavy] and self._counts[light] < self._ranges.most[light]
        )

    # ---- single exchanges -----------------------------------------------------------------------------------------

    def _swap(self, entry: int, back: int, heavy: int, light: int) -> bool:
        """Move one replica to the light broker, and another one back if `back` is not -1. Return whether that is allowed."""
        if not self._may_change(entry, light) or (back >= 0 and not self._may_change(back, heavy)):
            return False
        changes = [(entry, heavy, light)] + ([(back, light, heavy)] if back >= 0 else [])
        moves, size = map(sum, zip(*(self._cost(*each) for each in changes), strict=True))
        if moves > self._moves or size > self._bytes:
            return False
        self._moves, self._bytes = self._moves - moves, self._bytes - size
        for each in changes:
            self._apply(*each)
        return True

    def _may_change(self, entry: int, target: int) -> bool:
        """Whether the replica may be on the broker: no other one of the partition is, and the rack rule allows it."""
        row, column = divmod(entry, self._width)
        sets, old = self._sets[row], self._old[row]
        if (sets == target).any() or ((old == target).any() and old[column] != target):
            return False
        source_rack, target_rack = self._layout.rack[sets[column]], self._layout.rack[target]
        if source_rack == target_rack or not self._layout.shared:
            return True
        factor = int(self._given.factor[row])
        racks = self._layout.rack[sets[sets >= 0]]
        return bool(
            (racks == source_rack).sum() > self._layout.least[factor, source_rack]
            and (racks == target_rack).sum() < self._layout.most[factor, target_rack]
        )

    def _cost(self, entry: int, source: int, target: int) -> tuple[int, int]:
        """Return the moves and bytes that the change adds."""
        row, column = divmod(entry, self._width)
        home = int(self._old[row, column])
        moves = int(target != home) - int(source != home)
        return moves, moves * int(self._given.bytes[row])

    def _apply(self, entry: int, source: int, target: int) -> None:
        row, column = divmod(entry, self._width)
        size, home = int(self._given.bytes[row]), self._old[row, column]
        self._remove(source, entry, moving=bool(source != home))
        self._sets[row, column] = target
        self._insert(target, entry, moving=bool(target != home))
        self._held[source] -= size
        self._held[target] += size
        self._counts[source] -= 1
        self._counts[target] += 1

    # ---- replicas of each broker, by size -------------------------------------------------------------------------

    def _sizes(self, entries: Ints) -> Ints:
        sizes: Ints = self._given.bytes[entries // self._width]
        return sizes

    def _sorted_entries(self) -> list[list[Ints]]:
        """Return for each broker the replicas that stay, and those that are moving, in order of size."""
        entries = np.flatnonzero(self._sets.ravel() >= 0)
        brokers = self._sets.ravel()[entries]
        moving = brokers != self._old.ravel()[entries]
        order = np.lexsort((entries, self._sizes(entries), moving, brokers))
        keys = (brokers * 2 + moving)[order]
        ends = np.searchsorted(keys, np.arange(2 * self._layout.size + 1))
        entries = entries[order]
        parts = [entries[ends[each] : ends[each + 1]] for each in range(2 * self._layout.size)]
        return [[parts[2 * each], parts[2 * each + 1]] for each in range(self._layout.size)]

    def _remove(self, broker: int, entry: int, *, moving: bool) -> None:
        mine = self._entries[broker][moving]
        self._entries[broker][moving] = np.delete(mine, np.flatnonzero(mine == entry)[0])

    def _insert(self, broker: int, entry: int, *, moving: bool) -> None:
        mine = self._entries[broker][moving]
        at = np.searchsorted(self._sizes(mine), self._given.bytes[entry // self._width])
        self._entries[broker][moving] = np.insert(mine, at, entry)
