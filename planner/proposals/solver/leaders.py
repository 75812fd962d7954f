"""Preferred leaders: successors of those that are moved away, and even numbers by reordering lists.

Partitions with the same leader and the same set of replicas form a class. Even leaders are a minimum-cost
flow from classes over brokers to a sink: the deviation from the even share is least, then the number of
changes, then the number of new replicas that lead. No data moves.

For many partitions the network is smaller: partitions that keep their leader are arcs between brokers, as
many as could hand over leadership. A partition with several followers would be on several arcs, so it is put
on one of them. The cost of the network with all arcs is a lower bound: where both cost the same, no choice is
better. Otherwise the network of all classes is solved.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints, group_codes
from planner.proposals.problem.table import IN_SYNC
from planner.proposals.solver.network import Network

UNBOUNDED = 2**40
"""More leaders than a broker can have. The flow adds up one for each broker, which 2**60 would not leave room
for."""
NEW = 1
"""The rank of a new replica as a leader: 0 is one in sync, and those that are not in sync are behind both."""
MANY = 50_000
"""From this number of partitions, the small network is tried first."""


def taken_over(lists: Ints, sets: Ints, states: Ints, leaders: Ints) -> Ints:
    """Return the leader of each partition.

    The old one if it keeps its replica, else the member with the fewest leaders.

    Replicas in sync that a partition had before come before new ones, which will be in sync, and these before
    others. `states` are those of the old replicas. `leaders` counts the leaders of other partitions.
    """
    old = lists[:, 0]
    stays = (sets == old[:, None]).any(axis=1)
    counts = (leaders + np.bincount(old[stays], minlength=len(leaders))).tolist()
    result = np.where(stays, old, -1)
    gone = np.flatnonzero(~stays)
    had = lists[gone], np.where(states[gone] == IN_SYNC, 0, NEW + states[gone])
    for row, members, old_members, ranks in zip(
        gone.tolist(), sets[gone].tolist(), *(each.tolist() for each in had), strict=True
    ):
        rank = dict(zip(old_members, ranks, strict=True))
        candidates = ((rank.get(each, NEW), counts[each], each) for each in members if each >= 0)
        chosen = min(candidates)[-1]
        counts[chosen] += 1
        result[row] = chosen
    return result


def spread_over(lists: Ints, sets: Ints, able: Flags, leaders: Ints) -> Ints:
    """Return a leader of each partition among the `able` replicas, as even as these allow.

    Of equal ones, replicas that are in `lists` lead rather than new ones. `leaders` counts the leaders of
    other partitions. Each partition has a replica that is able.
    """
    if not len(sets):
        return np.zeros(0, np.int64)
    brokers = np.zeros(len(leaders), np.bool_)
    brokers[sets[able]] = True
    return _Leaders(lists, sets, able, np.zeros(len(sets), np.bool_), leaders, brokers).solve()


def even_leaders(
    lists: Ints, sets: Ints, states: Ints, leaders: Ints, brokers: Flags, demoted: Flags | None = None
) -> tuple[Ints, int]:
    """Return the leader of each partition: even over `brokers`, by the least number of changes.

    No other choice of leaders for these sets deviates less from the even share, or needs fewer changes for
    that. Partitions that are led by other brokers keep their leaders, and replicas that are not in sync do
    not become leaders. `states` are those of the old replicas, of which the kept ones are at their positions
    in `sets`. `leaders` counts the leaders of other partitions. `demoted` brokers, which are none of
    `brokers`, hand over all that another one may lead.
    """
    result = taken_over(lists, sets, states, leaders)
    old = lists[:, 0]
    stays = (sets == old[:, None]).any(axis=1)
    padding = ((0, 0), (0, sets.shape[1] - lists.shape[1]))
    kept = sets == np.pad(lists, padding, constant_values=-1)
    in_sync = ~kept | (np.pad(states, padding) == IN_SYNC) | (sets == old[:, None])
    may_lead = (sets >= 0) & brokers[sets] & in_sync
    if demoted is not None:
        stays &= ~(demoted[old] & may_lead.any(axis=1))
    mine = np.flatnonzero(np.where(stays, brokers[old], may_lead.any(axis=1)))
    others = np.setdiff1d(np.arange(len(lists)), mine)
    leaders = leaders + np.bincount(result[others], minlength=len(leaders))
    if len(mine):
        problem = _Leaders(lists[mine], sets[mine], may_lead[mine], stays[mine], leaders, brokers)
        chosen = problem.solve_between_brokers() if len(mine) >= MANY else None
        result[mine] = problem.solve() if chosen is None else chosen
    return result, int((result != old).sum())


class _Classes(NamedTuple):
    """Partitions that are alike, and their arcs to the brokers that may lead them."""

    of_row: Ints
    size: Ints
    member: Ints
    where: slice

    def dealt(self, flow: Ints) -> Ints:
        """Return the leader of each partition."""
        result = np.empty(len(self.of_row), np.int64)
        result[np.argsort(self.of_row, kind="stable")] = np.repeat(self.member, flow[self.where])
        return result


class _Leaders:
    """Nodes of the networks: sink, brokers, classes."""

    def __init__(
        self, lists: Ints, sets: Ints, may_lead: Flags, stays: Flags, leaders: Ints, brokers: Flags
    ) -> None:
        self._leaders, self._brokers = leaders, brokers
        had = (sets[:, :, None] == lists[:, None, :]).any(axis=2)
        candidates = np.where(may_lead, sets * 2 + ~had, -1)
        self._candidates = np.sort(candidates.astype(np.int32), axis=1)
        """Twice the position of each broker that may lead; one more if its replica is new."""
        self._leader = np.where(stays, lists[:, 0], -1)
        self._change = 2 * (int(brokers.sum()) + 1) + 1

    def solve(self) -> Ints:
        """Return the leader of each partition, from the network of all classes."""
        network = Network()
        classes = self._add_classes(network, np.arange(len(self._leader)))
        flow, _ = self._flow(network, np.zeros(len(self._leaders), np.int64), classes)
        return classes.dealt(flow)

    def solve_between_brokers(self) -> Ints | None:
        """Return the leader of each partition by the small network, or None if it may not be the best."""
        staying, moved = np.flatnonzero(self._leader >= 0), np.flatnonzero(self._leader < 0)
        rows, heads = self._followers(staying)
        _, least = self._between(staying[rows], heads, moved)
        # One follower of each partition, in turn: then no flow needs a partition twice.
        starts = np.searchsorted(rows, np.arange(len(staying) + 1))
        several = np.flatnonzero(np.diff(starts))
        once = starts[several] + np.arange(len(several)) % np.diff(starts)[several]
        result, cost = self._between(staying[rows[once]], heads[once], moved)
        return result if cost == least else None

    def _followers(self, partitions: Ints) -> tuple[Ints, Ints]:
        """Return the followers that may lead: the position in `partitions`, and the broker."""
        members = self._candidates[partitions] // 2
        rows, columns = np.nonzero((members >= 0) & (members != self._leader[partitions][:, None]))
        return rows.astype(np.int32), members[rows, columns]

    def _between(self, rows: Ints, heads: Ints, moved: Ints) -> tuple[Ints, int]:
        """Solve the network in which partitions may be handed over to these followers.

        Return leaders and the cost.

        The leaders are only right if each partition is in `rows` at most once.
        """
        brokers = len(self._leaders)
        keys = self._leader[rows] * brokers + heads
        pairs, counts = np.unique(keys, return_counts=True)
        tails, targets = np.divmod(pairs, brokers)
        network = Network()
        where = network.add(1 + tails, 1 + targets, counts, np.full(len(pairs), self._change))
        classes = self._add_classes(network, moved)
        staying = self._leader[self._leader >= 0]
        flow, cost = self._flow(network, np.bincount(staying, minlength=brokers), classes)
        result = self._leader.copy()
        result[moved] = classes.dealt(flow)
        order = np.argsort(keys, kind="stable")
        rank = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
        handed = rank < np.repeat(flow[where], counts)
        result[rows[order[handed]]] = heads[order[handed]]
        return result, cost

    def _add_classes(self, network: Network, rows: Ints) -> _Classes:
        """Group partitions by leader and members, and add their arcs to brokers."""
        leaders, candidates = self._leader[rows], self._candidates[rows]
        of_row = group_codes([leaders, *candidates.T])
        _, first, size = np.unique(of_row, return_index=True, return_counts=True)
        group, column = np.nonzero(candidates[first] >= 0)
        member, new = np.divmod(candidates[first][group, column], 2)
        moves = (leaders[first][group] >= 0) & (leaders[first][group] != member)
        # The present leader comes first in its class, so that partitions keep theirs in order.
        order = np.lexsort((member, moves, group))
        group, member, cost = group[order], member[order], (self._change * moves + new)[order]
        where = network.add(1 + len(self._leaders) + group, 1 + member, size[group], cost)
        return _Classes(of_row, size, member, where)

    def _flow(self, network: Network, present: Ints, classes: _Classes) -> tuple[Ints, int]:
        """Return the cheapest flow of the leaders that brokers have now, and of the classes; and its cost."""
        self._add_sinks(network, self._change * self._change)
        supplies = np.concatenate([[0], present, classes.size])
        supplies[0] = -supplies.sum()
        flow = network.cheapest_flow(supplies)
        if flow is None:  # every class has a candidate, and sinks are unbounded
            raise RuntimeError("leaders have no flow")
        return flow, network.cost(flow)

    def _add_sinks(self, network: Network, deviation: int) -> None:
        """Add arcs to the sink that cost more with each doubling of the distance from the even share."""
        even = np.flatnonzero(self._brokers)
        least, rest = divmod(len(self._leader) + int(self._leaders[even].sum()), max(1, len(even)))
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
