"""A plan that is changed replica by replica, and its sets of replicas as lists."""

import numpy as np

from planner.proposals.problem.arrays import Ints, in_blocks
from planner.proposals.problem.table import IN_SYNC, per_broker
from planner.proposals.solver.class_flow import Input


class Placement:
    """Sets of replicas with the totals of each broker.

    An *entry* is a position in the flattened matrix of sets.
    """

    def __init__(self, given: Input, sets: Ints, fixed_bytes: Ints) -> None:
        self.sets = sets.copy()
        self._given, self._layout = given, given.layout
        self._width = sets.shape[1]
        self._old = np.full(sets.shape, -1, np.int64)
        self._old[:, : given.lists.shape[1]] = given.lists
        self._stays = np.zeros(sets.shape, np.bool_)
        self._stays[:, : given.lists.shape[1]] = given.stays
        self._copy = np.repeat(given.bytes, self._width)
        """By entry: its bytes on a new broker."""
        self._own = given.sizes_in(self._old).ravel()
        """By entry: its bytes on the broker that has it now."""
        self._size = given.sizes_in(sets).ravel()
        """By entry: its bytes in the plan."""
        self.held = fixed_bytes + given.held(sets)
        """Bytes of each broker, those of partitions that may not change included."""
        self.counts = given.fixed + per_broker(sets, None, self._layout.size)
        """Replicas of each broker, in the same way."""
        arriving = np.where(sets != self._old, sets, -1)
        self.room = given.room - per_broker(arriving, given.bytes, self._layout.size)
        """Bytes that each broker can still receive."""
        self.entries = self._sorted_entries()
        """For each broker the replicas that stay, and those that are moving, in order of size."""

    def sizes(self, entries: Ints) -> Ints:
        """Return the bytes of each entry where it is."""
        sizes: Ints = self._size[entries]
        return sizes

    def size_on(self, entry: int, target: int) -> int:
        """Return the bytes that the replica would have on the broker."""
        home = self._old.ravel()[entry] == target
        return int(self._own[entry] if home else self._copy[entry])

    def may_change(self, entry: int, target: int) -> bool:
        """Whether the replica may be on the broker.

        No other one of the partition is, and racks and disks allow it.
        """
        row, column = divmod(entry, self._width)
        sets, old = self.sets[row], self._old[row]
        home = old[column] == target and bool(self._stays[row, column])
        if (sets == target).any() or ((old == target).any() and not home):
            return False
        if not home and self._given.bytes[row] > self.room[target]:
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

    def cost(self, entry: int, source: int, target: int) -> tuple[int, int]:
        """Return the moves and bytes that the change adds to the plan."""
        row, column = divmod(entry, self._width)
        home = int(self._old[row, column])
        moves = int(target != home) - int(source != home)
        return moves, moves * int(self._given.bytes[row])

    def apply(self, entry: int, source: int, target: int) -> None:
        """Put the replica on another broker."""
        row, column = divmod(entry, self._width)
        size, home = int(self._given.bytes[row]), self._old[row, column]
        self._remove(source, entry, moving=bool(source != home))
        self.held[source] -= self._size[entry]
        self.sets[row, column] = target
        self._size[entry] = self.size_on(entry, target)
        self.held[target] += self._size[entry]
        self._insert(target, entry, moving=bool(target != home))
        self.counts[source] -= 1
        self.counts[target] += 1
        self.room[source] += size * int(source != home)
        self.room[target] -= size * int(target != home)

    def _sorted_entries(self) -> list[list[Ints]]:
        entries = np.flatnonzero(self.sets.ravel() >= 0)
        brokers = self.sets.ravel()[entries]
        moving = brokers != self._old.ravel()[entries]
        padding = ((0, 0), (0, self._width - self._given.lists.shape[1]))
        in_sync = (np.pad(self._given.state, padding) == IN_SYNC).ravel()[entries]
        order = np.lexsort((entries, in_sync, self.sizes(entries), moving, brokers))
        keys = (brokers * 2 + moving)[order]
        ends = np.searchsorted(keys, np.arange(2 * self._layout.size + 1))
        entries = entries[order]
        parts = [entries[ends[each] : ends[each + 1]] for each in range(2 * self._layout.size)]
        return [[parts[2 * each], parts[2 * each + 1]] for each in range(self._layout.size)]

    def _remove(self, broker: int, entry: int, *, moving: bool) -> None:
        mine = self.entries[broker][moving]
        self.entries[broker][moving] = np.delete(mine, np.flatnonzero(mine == entry)[0])

    def _insert(self, broker: int, entry: int, *, moving: bool) -> None:
        mine = self.entries[broker][moving]
        at = np.searchsorted(self.sizes(mine), self._size[entry])
        self.entries[broker][moving] = np.insert(mine, at, entry)


LAST = 2**40
"""A key behind those of all brokers."""


def ordered(lists: Ints, sets: Ints, leaders: Ints) -> Ints:
    """Return the replica list of each partition.

    The leader, kept replicas in their old order, new ones by broker.

    Kept replicas of `sets` are at their positions in `lists`. All arrays have a row for each partition; lists
    are padded with -1.
    """
    return in_blocks(_ordered, lists, sets, leaders)


def _ordered(lists: Ints, sets: Ints, leaders: Ints) -> Ints:
    width = sets.shape[1]
    old = np.full(sets.shape, -1, np.int64)
    old[:, : lists.shape[1]] = lists
    keys = np.where(sets == old, np.arange(width), width + sets)
    keys = np.where(sets < 0, LAST, np.where(sets == leaders[:, None], -1, keys))
    result: Ints = np.take_along_axis(sets, np.argsort(keys, axis=1, kind="stable"), axis=1)
    return result
