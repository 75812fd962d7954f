"""What remains when the replicas have left that no plan keeps: where the plans of `quotas` start.

Matrices of sets have a row for each partition that may change, and `width` columns: the longest list, or the
largest wanted factor. A replica has the column that it has in the partition's list. Entries are positions of
brokers in the layout, -1 where there is none. Arrays of brokers have an element for each position.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.layout import first_to_drop
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.class_flow import Input, Ranges

CHUNKS = 64
"""Replicas that leave for the factor or the rack rule are chosen in this many rounds; counts are brought up
to date between."""


class Shares(NamedTuple):
    """Wanted bytes of each broker, out-of-scope partitions included, and the bytes of these partitions."""

    least: Ints
    most: Ints
    fixed: Ints

    def equals(self, other: "Shares") -> bool:
        """Return whether all wanted bytes are the same."""
        return np.array_equal(self.least, other.least) and np.array_equal(self.most, other.most)


class Remainder(NamedTuple):
    """The partitions without the replicas that leave in any case. Nothing changes these arrays."""

    given: Input
    old: Ints
    """Sets: the lists as they are."""
    state: Ints
    """The state of each replica of `old`."""
    stays: Ints
    """Sets: `old` without replicas on brokers that are not usable, and without those that leave for another
    reason."""
    sets: Ints
    """Sets: `stays` without replicas above the wanted factor, and without those against a rack rule that is
    repaired."""
    present: Ints
    """Replicas on each broker in `stays`, with those of partitions that may not change."""
    counts: Ints
    """The same for `sets`."""
    scope: Ints
    """What each broker exchanges replicas within: its rack where `racks_are_fixed`, else 0 for all
    brokers."""
    racks_are_fixed: bool
    """Whether the rack rule determines how many replicas of each partition every rack holds."""

    @property
    def holes(self) -> Ints:
        """How many replicas each partition lacks in `sets`. All of them are new in any plan."""
        holes: Ints = self.given.factor - (self.sets >= 0).sum(axis=1)
        return holes

    def scopes(self) -> list[int]:
        """Return the scopes with a usable broker."""
        scopes: list[int] = np.unique(self.scope[self.given.layout.usable]).tolist()
        return scopes

    def missing(self, sets: Ints, sizes: Ints | None = None) -> Ints:
        """Return how many more replicas (or bytes) each scope should hold than in these sets."""
        given, layout = self.given, self.given.layout
        missing = np.zeros(len(layout.brokers_of), np.int64)
        weights = np.ones(len(sets), np.int64) if sizes is None else sizes
        held = per_broker(sets, weights, layout.size)
        if not self.racks_are_fixed:
            missing[0] = int((given.factor * weights).sum()) - int(held.sum())
            return missing
        for factor in np.unique(given.factor).tolist():
            missing += layout.most[factor] * int(weights[given.factor == factor].sum())
        np.subtract.at(missing, layout.rack, held)
        return missing

    def above(self, held: Ints, wanted: Ranges, fixed: Ints) -> Ints:
        """Return by how much usable brokers hold more than wanted; what is fixed there does not leave."""
        above: Ints = np.where(self.given.layout.usable, np.clip(held - wanted.most, 0, held - fixed), 0)
        return above

    def below(self, held: Ints, wanted: Ranges) -> Ints:
        """Return by how much brokers that may get new replicas hold less than wanted."""
        below: Ints = np.where(self.given.layout.receives, np.maximum(0, wanted.least - held), 0)
        return below


def remainder_of(given: Input) -> Remainder:
    """Drop the replicas that no plan keeps."""
    columns = given.lists.shape[1]
    padding = ((0, 0), (0, max(columns, int(given.factor.max(initial=1))) - columns))
    old = np.pad(given.lists, padding, constant_values=-1)
    state = np.pad(given.state, padding)
    stays = np.where(np.pad(given.stays, padding), old, -1)
    present = given.fixed + per_broker(stays, None, given.layout.size)
    dropping = _Dropping(given, stays.copy(), state, present.copy())
    dropping.drop()
    fixed = _racks_are_fixed(given, dropping.sets)
    scope = given.layout.rack if fixed else np.zeros(given.layout.size, np.int64)
    return Remainder(given, old, state, stays, dropping.sets, present, dropping.counts, scope, fixed)


def _racks_are_fixed(given: Input, sets: Ints) -> bool:
    layout, factor = given.layout, given.factor
    if not layout.shared:
        return False
    for each in np.unique(factor).tolist():
        if (layout.least[each] != layout.most[each]).any():
            return False
    held = layout.held(sets)
    return bool((held <= layout.most[factor]).all())


class _Dropping:
    """Removes replicas from `sets`, and keeps `counts` those of `sets`."""

    def __init__(self, given: Input, sets: Ints, state: Ints, counts: Ints) -> None:
        self._given, self._layout, self._state = given, given.layout, state
        self.sets, self.counts = sets, counts

    def drop(self) -> None:
        """Remove replicas above the wanted factor, and those against a rack rule that is to be repaired."""
        given = self._given
        kept = (self.sets >= 0).sum(axis=1)
        surplus = np.maximum(0, kept - given.factor)
        if given.repair_racks and self._layout.shared:
            surplus = np.maximum(surplus, self._excess())
        for rows in np.array_split(np.flatnonzero(surplus), CHUNKS):
            for turn in range(int(surplus[rows].max(initial=0))):
                self._drop_one(rows[surplus[rows] > turn])

    def _excess(self) -> Ints:
        """Return how many replicas of each row must leave.

        Those in full racks, or as many as other racks lack.
        """
        factor = self._given.factor
        held = self._layout.held(self.sets)
        over = np.maximum(0, held - self._layout.most[factor]).sum(axis=1)
        short = np.maximum(0, self._layout.least[factor] - held).sum(axis=1)
        holes = np.maximum(0, factor - held.sum(axis=1))
        excess: Ints = np.maximum(over, short - holes)
        return excess

    def _drop_one(self, rows: Ints) -> None:
        """Remove a replica of each row."""
        if not len(rows):
            return
        sets, factor = self.sets[rows], self._given.factor[rows]
        slot = first_to_drop(self._layout, sets, sets >= 0, self._state[rows], factor, self.counts)
        self.counts -= np.bincount(sets[np.arange(len(rows)), slot], minlength=self._layout.size)
        self.sets[rows, slot] = -1
