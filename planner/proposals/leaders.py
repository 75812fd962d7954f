"""Preferred leaders: who takes over where the leader's replica is gone, and even numbers of leaders by reordering lists.

Partitions with the same leader and the same set of replicas form a class. Even leaders are a minimum-cost flow from classes over
brokers to a sink: the deviation from the even share is least, then the number of changes, then the number of new replicas that
lead. No data moves.
"""

import numpy as np

from planner.proposals.arrays import Flags, Ints, group_codes
from planner.proposals.network import Network

UNBOUNDED = 2**40


def taken_over(lists: Ints, sets: Ints, leaders: Ints) -> Ints:
    """Return the leader of each partition: the old one if it keeps its replica, else the member with the fewest leaders.

    Replicas that a partition had before come before new ones. `leaders` counts the leaders of other partitions.
    """
    old = lists[:, 0]
    stays = (sets == old[:, None]).any(axis=1)
    counts = (leaders + np.bincount(old[stays], minlength=len(leaders))).tolist()
    result = np.where(stays, old, -1)
    gone = np.flatnonzero(~stays)
    had = {broker: set(row) for broker, row in zip(gone.tolist(), lists[gone].tolist(), strict=True)}
    for row, members in zip(gone.tolist(), sets[gone].tolist(), strict=True):
        candidates = [each for each in members if each >= 0]
        kept = [each for each in candidates if each in had[row]]
        chosen = min(kept or candidates, key=lambda broker: (counts[broker], broker))
        counts[chosen] += 1
        result[row] = chosen
    return result


def even_leaders(lists: Ints, sets: Ints, leaders: Ints, brokers: Flags) -> tuple[Ints, int]:
    """Return the leader of each partition with leaders spread evenly over `brokers`, and the least number of changes.

    No other choice of leaders for these sets deviates less from the even share, or needs fewer changes for that. Partitions that
    are led by other brokers keep their leaders. `leaders` counts the leaders of other partitions.
    """
    result = taken_over(lists, sets, leaders)
    old = lists[:, 0]
    stays = (sets == old[:, None]).any(axis=1)
    mine = np.flatnonzero(np.where(stays, brokers[old], ((sets >= 0) & brokers[sets]).any(axis=1)))
    others = np.setdiff1d(np.arange(len(lists)), mine)
    leaders = leaders + np.bincount(result[others], minlength=len(leaders))
    if len(mine):
        result[mine] = _Leaders(lists[mine], sets[mine], stays[mine], leaders, brokers).solve()
    return result, int((result != old).sum())


class _Leaders:
    def __init__(self, lists: Ints, sets: Ints, stays: Flags, leaders: Ints, brokers: Flags) -> None:
        self._leaders, self._brokers = leaders, brokers
        had = (sets[:, :, None] == lists[:, None, :]).any(axis=2)
        candidates = np.where((sets >= 0) & brokers[sets], sets * 2 + ~had, -1)
        candidates.sort(axis=1)
        leader = np.where(stays, lists[:, 0], -1)
        self._of_row = group_codes([leader, *candidates.T])
        _, first, self._size = np.unique(self._of_row, return_index=True, return_counts=True)
        self._leader, self._candidates = leader[first], candidates[first]

    def solve(self) -> Ints:
        """Return the leader of each partition."""
        brokers, groups = len(self._leaders), len(self._size)
        group, column = np.nonzero(self._candidates >= 0)
        member, new = np.divmod(self._candidates[group, column], 2)
        change = 2 * (int(self._brokers.sum()) + 1) + 1
        moves = (self._leader[group] >= 0) & (self._leader[group] != member)
        # The present leader comes first in its class, so that partitions keep theirs in order.
        order = np.lexsort((member, moves, group))
        group, member, new, moves = group[order], member[order], new[order], moves[order]
        network = Network()
        where = network.add(1 + brokers + group, 1 + member, self._size[group], change * moves + new)
        self._add_sinks(network, change * change)
        supplies = np.zeros(1 + brokers + groups, np.int64)
        supplies[1 + brokers :] = self._size
        supplies[0] = -self._size.sum()
        flow = network.cheapest_flow(supplies)
        if flow is None:  # every class has a candidate, and sinks are unbounded
            raise RuntimeError("leaders have no flow")
        result = np.empty(len(self._of_row), np.int64)
        result[np.argsort(self._of_row, kind="stable")] = np.repeat(member, flow[where])
        return result

    def _add_sinks(self, network: Network, deviation: int) -> None:
        """Add arcs to the sink that cost more with each doubling of the distance from the even share."""
        even = np.flatnonzero(self._brokers)
        least, rest = divmod(int(self._size.sum() + self._leaders[even].sum()), max(1, len(even)))
        most = least + (rest > 0)
        steps = 2 ** np.arange(32)
        for broker in even.tolist():
            base = int(self._leaders[broker])
            starts = np.unique(np.concatenate([[base, least, most], least - steps, most + steps]))
            starts = starts[starts >= base]
            costs = np.where(starts < least, -1, np.where(starts >= most, 1, 0)).astype(np.int64)
            costs = costs * (1 + _doublings(np.where(starts < least, least - starts, starts - most + 1)))
            capacities = np.diff(starts, append=starts[-1] + UNBOUNDED)
            network.add(
                np.full(len(starts), 1 + broker),
                np.zeros(len(starts), np.int64),
                capacities,
                deviation * costs,
            )


def _doublings(distance: Ints) -> Ints:
    """Return the number of times that 1 has to be doubled to reach each distance."""
    result: Ints = np.ceil(np.log2(np.maximum(1, distance))).astype(np.int64)
    return result
