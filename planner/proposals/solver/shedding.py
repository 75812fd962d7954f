"""Which replicas leave brokers so that counts or bytes become even: the second phase of `quotas`.

It begins with the sets of the remainder, and removes replicas from them. A broker sheds down to its most, or
further if others lack more than is missing anyway. Replicas are named by *slots*, their positions in the
flattened sets.
"""

from collections.abc import Iterator

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints, lowered
from planner.proposals.problem.table import IN_SYNC
from planner.proposals.solver.class_flow import Ranges
from planner.proposals.solver.remainder import Remainder, Shares

NEAR_ENOUGH = 50
"""A choice that misses the wanted bytes by at most a fiftieth of them is taken, without a look for a nearer
one."""


def shed_for_counts(remainder: Remainder, sets: Ints, ranges: Ranges, shares: Shares | None) -> None:
    """Remove replicas from `sets`, which are those of the remainder, for counts in these ranges."""
    _Shedding(remainder, sets).for_counts(ranges, shares)


def shed_for_bytes(remainder: Remainder, sets: Ints, shares: Shares) -> None:
    """Remove replicas from `sets`, which are those of the remainder, for even bytes.

    Large ones, so that few leave.
    """
    _Shedding(remainder, sets).for_bytes(shares)


class _Shedding:
    """Only `sets` changes, by one of the two public methods, which is called once."""

    def __init__(self, remainder: Remainder, sets: Ints) -> None:
        self._remainder, self._given, self._layout = remainder, remainder.given, remainder.given.layout
        self._sets, self._behind = sets, (remainder.state != IN_SYNC).ravel()
        self._own_sizes = self._given.sizes_in(sets).ravel()

    def for_counts(self, ranges: Ranges, shares: Shares | None) -> None:
        """Remove from each broker the replicas that it sheds, and about as many bytes if there are shares."""
        leaving = self._leaving(ranges)
        donors = np.flatnonzero(leaving)
        if not len(donors):
            return
        slots = np.flatnonzero(np.isin(self._sets, donors).ravel())
        brokers = self._sets.ravel()[slots]
        order = np.argsort(brokers, kind="stable")
        slots, starts = slots[order], np.searchsorted(brokers[order], [*donors.tolist(), self._layout.size])
        targets = None if shares is None else self._bytes_to_shed(shares, leaving > 0)
        leaders = np.bincount(self._given.lists[:, 0], minlength=self._layout.size)
        share = -(-len(self._given.lists) // max(1, int(self._layout.receives.sum())))
        for number, donor in enumerate(donors.tolist()):
            mine = slots[starts[number] : starts[number + 1]]
            wanted = None if targets is None else int(targets[donor])
            most = UNBOUNDED if self._given.fewest_bytes else max(0, int(leaders[donor]) - share)
            self._sets.ravel()[self._chosen(mine, int(leaving[donor]), wanted, most)] = -1

    def for_bytes(self, shares: Shares) -> None:
        """Remove from each broker its largest replicas that fit what it sheds."""
        targets = self._bytes_to_shed(shares, self._layout.usable)
        for broker in np.flatnonzero(targets).tolist():
            slots = np.flatnonzero((self._sets == broker).ravel())
            sizes = self._own_sizes[slots]
            order = np.lexsort((slots, ~self._behind[slots], -sizes))
            self._sets.ravel()[slots[order[_largest(sizes[order], int(targets[broker]))]]] = -1

    def _leaving(self, ranges: Ranges) -> Ints:
        """Return how many replicas each broker sheds for even counts."""
        remainder, counts, fixed = self._remainder, self._remainder.counts, self._given.fixed
        leaving, holes = np.zeros(self._layout.size, np.int64), remainder.missing(self._sets)
        over, lack = remainder.above(counts, ranges, fixed), remainder.below(counts, ranges)
        for each in remainder.scopes():
            brokers = np.flatnonzero(self._layout.usable & (remainder.scope == each))
            short = int(lack[brokers].sum() - holes[each] - over[brokers].sum())
            rest = counts[brokers] - over[brokers]
            floor = np.maximum(ranges.least[brokers], fixed[brokers])
            lower = lowered(rest, short, np.minimum(rest, floor), self._layout.weights[brokers])
            leaving[brokers] = over[brokers] + lower
        return leaving

    def _bytes_to_shed(self, shares: Shares, leaving: Flags) -> Ints:
        """Return how many bytes these brokers should shed."""
        remainder, wanted = self._remainder, Ranges(shares.least, shares.most)
        held = shares.fixed + self._given.held(self._sets)
        missing = remainder.missing(self._sets, self._given.bytes)
        lack = remainder.below(held, wanted)
        over = np.where(leaving, np.clip(held - shares.most, 0, held - shares.fixed), 0)
        for each in remainder.scopes():
            mine = self._layout.usable & (remainder.scope == each)
            donors = np.flatnonzero(mine & leaving)
            rest = held[donors] - over[donors]
            short = int(lack[mine].sum() - missing[each] - over[donors].sum())
            floor = np.maximum(shares.least[donors], shares.fixed[donors])
            over[donors] += lowered(rest, short, np.minimum(rest, floor))
        return over

    def _chosen(self, slots: Ints, count: int, wanted: int | None, leaders: int) -> Ints:
        """Choose `count` of these replicas, with `wanted` bytes in all if given, else the smallest.

        Leaders beyond `leaders` come last. Those that are not in sync come first, unless that is farther from
        the wanted bytes.
        """
        rows, position = np.divmod(slots, self._sets.shape[1])
        # What counts for few bytes is the copy; what the broker gets rid of is its own replica.
        sizes = self._given.bytes[rows] if wanted is None else self._own_sizes[slots]
        leads = position == 0
        rank = np.cumsum(leads) * leads
        pool = np.flatnonzero(rank <= leaders)
        if len(pool) < count:
            pool = np.arange(len(slots))[np.argsort(rank, kind="stable")][:count]
        behind = self._behind[slots]
        pool = pool[np.lexsort((slots[pool], ~behind[pool], sizes[pool]))]
        if wanted is None:
            if not self._given.fewest_bytes:
                pool = pool[np.argsort(~behind[pool], kind="stable")]
            return slots[pool[:count]]
        best, missed = pool[:0], UNBOUNDED
        for candidates in self._candidates(slots, sizes, pool, behind, count):
            chosen = _nearest(sizes, *candidates, count, wanted)
            distance = abs(int(sizes[chosen].sum()) - wanted)
            if distance < missed:
                best, missed = chosen, distance
            if missed * NEAR_ENOUGH <= wanted:
                break
        return slots[best]

    def _candidates(
        self, slots: Ints, sizes: Ints, pool: Ints, behind: Flags, count: int
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield positions that are certain, and those that the rest is chosen from, in order of size."""
        if behind[pool].any():
            yield pool[behind[pool]][:count], pool[~behind[pool]]
        yield pool[:0], pool
        yield pool[:0], np.lexsort((slots, sizes))


def _largest(sizes: Ints, wanted: int) -> Ints:
    """Return positions of sizes, in descending order, whose sum is at most `wanted`.

    Each time the largest one that fits.
    """
    chosen: list[Ints] = []
    start = 0
    while start < len(sizes):
        start += int(np.searchsorted(-sizes[start:], -wanted))
        fitting = int(np.searchsorted(np.cumsum(sizes[start:]), wanted, side="right"))
        if not fitting:
            break
        chosen.append(np.arange(start, start + fitting))
        wanted -= int(sizes[start : start + fitting].sum())
        start += fitting
    return np.concatenate(chosen) if chosen else np.zeros(0, np.int64)


def _window(sizes: Ints, count: int, wanted: int) -> Ints:
    """Return the positions of `count` adjacent ascending sizes whose sum is nearest to `wanted`."""
    sums = np.concatenate([[0], np.cumsum(sizes)])
    totals = sums[count:] - sums[:-count]
    first = int(np.abs(totals - wanted).argmin())
    return np.arange(first, first + count)


def _nearest(sizes: Ints, certain: Ints, others: Ints, count: int, wanted: int) -> Ints:
    """Return `count` positions: the certain ones, and adjacent others whose sum comes nearest to `wanted`."""
    if len(certain) == count:
        return certain
    rest = _window(sizes[others], count - len(certain), wanted - int(sizes[certain].sum()))
    return np.concatenate([certain, others[rest]])
