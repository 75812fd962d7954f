"""Levels of the load of brokers, for which the cheapest flow has the lowest highest share.

The *share* of a broker is its number of replicas divided by its weight. A replica costs more with each level
that the share of its broker reaches. Replicas can be exchanged between brokers along cycles of the flow, so
no plan has a lower highest share than the cheapest one if a level begins exactly at that share: from a broker
that reaches it, a replica could go to one that does not, which would be cheaper. Levels are exact where the
highest shares are expected, and coarse elsewhere. If the highest share of a rack turns out to be between two
levels, these are refined, and the flow is solved again.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Ints, filled, lowered
from planner.proposals.problem.layout import Layout

MOST_EXACT = 64
"""Up to so many shares are told apart one by one. Beyond, as many around those that are expected to be the
highest ones."""
MOST_LEVELS = 1024
"""No network has more levels."""
MOST_REFINED = 128
"""Most levels, of all racks together, into which those around the highest shares are divided."""


class Loads(NamedTuple):
    """Replicas of each broker."""

    held: Ints
    """Those that may stay, and those of partitions that may not change."""
    leaving: Ints
    """For each rack, how many have to leave it in any case."""
    missing: Ints
    """For each rack, how many new ones it has to get in any case."""
    rest: int
    """How many more any rack may get; how many leave any rack if less than 0."""
    most: Ints
    """The upper ends of the wanted ranges; 0 if counts do not matter."""


class Levels:
    """The shares at which levels begin, in ascending order."""

    def __init__(self, layout: Layout, loads: Loads) -> None:
        self._layout = layout
        usable = np.flatnonzero(layout.usable)
        racks = layout.rack[usable] if layout.shared else np.zeros(len(usable), np.int64)
        self._groups = [usable[racks == rack] for rack in np.unique(racks).tolist()]
        """Brokers of each rack; all of them if racks do not matter."""
        self._weights = sorted({int(weight) for weight in layout.weights[usable].tolist()}) or [1]
        self._parts = min(32, max(2, MOST_REFINED // max(1, len(self._groups))))
        """Into how many levels the one around the highest share of a rack is divided at a time."""
        self._refined: dict[int, set[Fraction]] = {}
        self._fixed = self._first(loads, usable)

    @property
    def shares(self) -> list[Fraction]:
        """Where levels begin."""
        return sorted(self._fixed.union(*self._refined.values()))

    def starts(self) -> dict[int, Ints]:
        """Return for each weight of a broker the counts above which each level begins."""
        shares = self.shares
        return {
            weight: np.array([ceil(share * weight) - 1 for share in shares], np.int64)
            for weight in self._weights
        }

    def refine(self, counts: Ints) -> bool:
        """Add levels where the highest share of a rack is between two. Return whether there were any."""
        shares, known = self.shares, self._fixed.union(*self._refined.values())
        refined = False
        for number, group in enumerate(self._groups):
            highest = self._highest(counts, group)
            if highest > 0 and highest not in known:
                below = max((share for share in shares if share < highest), default=Fraction(0))
                self._refined[number] = {below, *self._between(below, highest), self._next(highest)}
                refined = True
        return refined

    def _highest(self, counts: Ints, group: Ints) -> Fraction:
        """Return the highest share of these brokers."""
        return max(
            Fraction(count, weight)
            for count, weight in zip(
                counts[group].tolist(), self._layout.weights[group].tolist(), strict=True
            )
        )

    def _between(self, low: Fraction, high: Fraction) -> Iterator[Fraction]:
        """Yield the shares above `low`, up to `high`; if there are too many, some that are evenly spread."""
        if sum(floor(high * weight) - floor(low * weight) for weight in self._weights) <= self._parts:
            yield from self._shares(low, high)
        else:
            yield from (low + (high - low) * each / self._parts for each in range(1, self._parts + 1))

    def _shares(self, low: Fraction, high: Fraction) -> Iterator[Fraction]:
        """Yield the shares that brokers can have from `low` to `high`."""
        for weight in self._weights:
            yield from (Fraction(k, weight) for k in range(ceil(low * weight), floor(high * weight) + 1))

    def _next(self, share: Fraction) -> Fraction:
        """Return the lowest share above this one."""
        return min(Fraction(floor(share * weight) + 1, weight) for weight in self._weights)

    # ---- what is expected ----------------------------------------------------------------------------------

    def _first(self, loads: Loads, usable: Ints) -> set[Fraction]:
        expected = [share for share in self._expected(loads) if share > 0]
        top = self._weights[-1]
        low = min((Fraction(*each) for each in self._pairs(loads.held, usable)), default=Fraction(0))
        high = max(expected, default=Fraction(0)) + Fraction(1, top)
        if sum(floor(high * weight) - floor(low * weight) for weight in self._weights) <= MOST_EXACT:
            return set(self._shares(low, high))
        half = Fraction(max(2, MOST_EXACT // (len(expected) * len(self._weights))), 2 * top)
        shares = {share for each in expected for share in self._shares(max(low, each - half), each + half)}
        around = floor(max(expected) * top)
        rising = np.cumsum(np.maximum(1, (1.125 ** np.arange(120)).astype(np.int64))).tolist()
        coarse = (Fraction(count, top) for each in rising for count in (around - each, around + each))
        every = sorted(shares | {share for share in coarse if low <= share <= 2 * high})
        return set(every[:: -(-len(every) // (MOST_LEVELS // 4))])

    def _pairs(self, counts: Ints, brokers: Ints) -> Iterable[tuple[int, int]]:
        return zip(counts[brokers].tolist(), self._layout.weights[brokers].tolist(), strict=True)

    def _expected(self, loads: Loads) -> Iterator[Fraction]:
        """Yield the shares that are likely to be the highest ones of racks."""
        after = self._after(loads)
        for group in self._groups:
            yield self._highest(loads.held, group)
            yield self._highest(after, group)
            yield self._highest(loads.most, group)

    def _after(self, loads: Loads) -> Ints:
        """Return the counts if the emptiest brokers get all new replicas, and the fullest lose the others."""
        layout, counts = self._layout, loads.held.copy()
        changes = [(np.flatnonzero(layout.usable), max(0, -loads.rest), max(0, loads.rest))]
        if layout.shared:
            racks = [(group, int(layout.rack[group[0]])) for group in self._groups]
            by_rack = [(group, int(loads.leaving[rack]), int(loads.missing[rack])) for group, rack in racks]
            changes = [*by_rack, *changes]
        for brokers, leaving, arriving in changes:
            weights, none = layout.weights[brokers], np.zeros(len(brokers), np.int64)
            counts[brokers] -= lowered(counts[brokers], leaving, none, weights)
            most = np.where(layout.receives[brokers], UNBOUNDED, 0)
            counts[brokers] += filled(counts[brokers], arriving, most, weights)
        return counts
