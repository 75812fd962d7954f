"""Leaders with which the loads of leaders are in their ranges, by few changes; no data moves.

The broker that is farthest outside of its ranges hands leadership over, or takes it: each time the partition
and the other broker with which both come nearest to their ranges. Ends if nothing helps any more.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.by_load.leader_bound import able_targets, least_highest
from planner.proposals.problem.arrays import Flags, Ints, Rates
from planner.proposals.problem.goal import LoadName, Problem
from planner.proposals.problem.loads import (
    Ranges,
    aimed_ranges,
    bounds_of,
    following_weights,
    leader_loads,
    on_leaders,
    weights_of,
)
from planner.proposals.problem.table import IN_SYNC, per_broker

LEAST_GAIN = 1e-9
STEPS = 4
"""Most changes, in partitions."""


class Led(NamedTuple):
    """The leader of each partition, and what no choice of leaders among these replicas can better."""

    leaders: Ints
    outside: float
    """By how many fair shares able brokers are outside of their ranges."""
    notes: list[str]


def leaders_by_load(
    problem: Problem, lists: Ints, sets: Ints, leaders: Ints, states: Ints, able: Flags
) -> Led:
    """Choose the leaders. `leaders` are those to begin with.

    Only `able` brokers take leadership, with replicas that are in sync or new. `states` are those of `lists`;
    kept replicas are at their positions in `sets`. If the goal is not to even out leaders, only partitions
    change whose leader changes in any case, and those led by a broker that is relieved of loads.
    """
    table, names = problem.table, leader_loads(problem.goal)
    ranges = bounds_of(table, [aimed_ranges(problem, each) for each in names])
    weights = np.stack([weights_of(table, problem.goal, each)[table.free] for each in names], axis=1)
    fixed = np.stack([_settled(problem, each, sets) for each in names], axis=1)
    padding = ((0, 0), (0, sets.shape[1] - lists.shape[1]))
    kept = sets == np.pad(lists, padding, constant_values=-1)
    in_sync = ~kept | (np.pad(states, padding) == IN_SYNC)
    may_lead = (sets >= 0) & able[sets] & in_sync
    if not problem.goal.even_leaders:
        relieved = np.isin(table.brokers, sorted(problem.goal.relieved_of_loads))
        may_lead[(leaders == lists[:, 0]) & ~relieved[leaders]] = False
    leading = _Leading(ranges, weights.astype(np.float64), sets, may_lead, fixed)
    chosen = leading.solve(leaders, able)
    if not problem.goal.even_leaders:  # The bound is of all choices of leaders, most of which are not open.
        return Led(chosen, leading.outside(able), [])
    bounds = zip(names, leading.bounds(able), strict=True)
    return Led(chosen, leading.outside(able), [_bound_note(load, bound) for load, bound in bounds if bound])


def _bound_note(load: LoadName, bound: float) -> str:
    return f"{load}: whoever leads, the fullest broker carries at least {bound:.2f} of its fair share"


def _settled(problem: Problem, load: LoadName, sets: Ints) -> Ints:
    """Return what each broker carries whoever leads the partitions that may change."""
    table, goal = problem.table, problem.goal
    following = following_weights(table, goal, load)[table.free]
    return on_leaders(table, goal, load, ~table.free) + per_broker(sets, following, len(table.brokers))


class _Leading:
    """Only `_hand_over` changes the leaders and the loads."""

    def __init__(self, ranges: Ranges, weights: Rates, sets: Ints, may_lead: Flags, fixed: Ints) -> None:
        self._ranges, self._weights, self._sets = ranges, weights, sets
        self._may_lead, self._fixed = may_lead, fixed
        self._leaders, self._loads = sets[:, 0], ranges.share
        flat = np.argsort(sets, axis=None, kind="stable")
        ends = np.searchsorted(sets.ravel()[flat], np.arange(len(ranges.share) + 1))
        rows = flat // sets.shape[1]
        self._rows_of = [np.sort(rows[ends[each] : ends[each + 1]]) for each in range(len(ranges.share))]
        """By broker: the partitions of which it has a replica."""

    def solve(self, leaders: Ints, able: Flags) -> Ints:
        """Return the leaders after all changes that help."""
        brokers = np.flatnonzero(able)
        self._leaders, size = leaders.copy(), len(able)
        weights = [self._weights[:, each].astype(np.int64) for each in range(self._weights.shape[1])]
        led = [per_broker(leaders[:, None], each, size) for each in weights]
        self._loads = (self._fixed + np.stack(led, axis=1)).astype(np.float64)
        stuck = np.zeros(len(brokers), np.bool_)
        for _ in range(STEPS * len(leaders)):
            excess = self._ranges.outside(self._loads[brokers], brokers)
            open_ = np.where(stuck, 0.0, excess)
            if open_.max(initial=0.0) <= 0:
                break
            worst = int(open_.argmax())
            helped = self._improve(int(brokers[worst]))
            stuck = np.zeros(len(brokers), np.bool_) if helped else stuck | (np.arange(len(brokers)) == worst)
        return self._leaders

    def outside(self, able: Flags) -> float:
        """Return by how many fair shares these brokers, in all, are outside of their ranges."""
        brokers = np.flatnonzero(able)
        return float(self._ranges.outside(self._loads[brokers], brokers).sum())

    def bounds(self, able: Flags) -> list[float]:
        """Return for each load what the fullest broker carries at least, as a part of its fair share.

        It is 0 where no broker is above its range, or if it is not known.
        """
        targets = able_targets(self._sets, self._may_lead, self._leaders)
        share = np.where(able[:, None], self._ranges.share, 0.0)
        columns = zip(self._loads.T, self._ranges.most.T, share.T, self._weights.T, strict=True)
        return [
            least_highest(loads, fair, weights, self._leaders, targets) if (loads > most)[able].any() else 0.0
            for loads, most, fair, weights in columns
        ]

    def _improve(self, broker: int) -> bool:
        """Hand over from or to the broker. Return whether anything helps."""
        here = self._rows_of[broker]
        led = self._leaders[here] == broker
        giving = here[led]
        rows, columns = np.nonzero(self._may_lead[giving] & (self._sets[giving] != broker))
        out = giving[rows], self._sets[giving[rows], columns]
        able = ((self._sets[here] == broker) & self._may_lead[here]).any(axis=1)
        taking = here[able & ~led]
        into = taking, np.full(len(taking), broker)
        rows, targets = np.concatenate([out[0], into[0]]), np.concatenate([out[1], into[1]])
        if not len(rows):
            return False
        sources, weights = self._leaders[rows], self._weights[rows]
        before = self._excess(sources, 0.0) + self._excess(targets, 0.0)
        gain = before - self._excess(sources, -weights) - self._excess(targets, weights)
        if gain.max() <= LEAST_GAIN:
            return False
        best = int(gain.argmax())
        self._hand_over(int(rows[best]), int(targets[best]))
        return True

    def _excess(self, brokers: Ints, more: Rates | float) -> Rates:
        return self._ranges.outside(self._loads[brokers] + more, brokers)

    def _hand_over(self, row: int, target: int) -> None:
        self._loads[self._leaders[row]] -= self._weights[row]
        self._loads[target] += self._weights[row]
        self._leaders[row] = target
