"""Brokers and racks of a problem as arrays, the rack rule for columns of replicas, and the order of drops.

A partition drops offline replicas before all others; then those in a rack that has too many; those that are
not in sync; those on the fullest broker; the leader last. Offline replicas are dropped only as far as live
ones remain for the wanted factor: a broker that is offline for a while keeps what it has.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints, group_codes
from planner.proposals.problem.nodes import Node, own_rack, rack_bounds
from planner.proposals.problem.table import OFFLINE, Table

MOST_RANK = 2**40
"""More than the replicas of any broker, so that their number decides only between replicas of equal urgency
and state."""
CELLS = 2**22
"""Most cells of a matrix of lists and racks that is built at once."""


class Layout:
    """Brokers by their position in `Table.brokers`.

    Racks with a usable broker are numbered first, by name.
    """

    def __init__(self, nodes: Sequence[Node], brokers: Ints, factors: Iterable[int]) -> None:
        known = {node.id: node for node in nodes}
        every = [
            known.get(broker, Node(broker, own_rack(broker), False, False)) for broker in brokers.tolist()
        ]
        self.size = len(every)
        self.usable: Flags = np.array([node.usable for node in every], np.bool_)
        self.receives: Flags = np.array([node.receives for node in every], np.bool_)
        self.weights = _integers([node.weight for node in every])
        usable_racks = sorted({node.rack for node in every if node.usable})
        other_racks = sorted({node.rack for node in every} - set(usable_racks))
        names = [*usable_racks, *other_racks]
        number = {name: position for position, name in enumerate(names)}
        self.racks = len(usable_racks)
        """Number of racks with a usable broker."""
        self.rack: Ints = np.array([number[node.rack] for node in every], np.int64)
        self.brokers_of: Ints = np.bincount(self.rack[self.usable], minlength=len(names))
        self.shared = bool((self.brokers_of > 1).any())
        """Whether any rack has several usable brokers. Otherwise different brokers are all that the rack rule
        asks for."""
        self.least, self.most = self._bounds(names, factors)

    def _bounds(self, names: Sequence[str], factors: Iterable[int]) -> tuple[Ints, Ints]:
        """Return the bounds of each factor (row) in each rack (column)."""
        wanted = sorted(set(factors))
        shape = (max(wanted, default=0) + 1, len(names))
        least, most = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        brokers_of = {names[rack]: int(self.brokers_of[rack]) for rack in range(self.racks)}
        for factor in wanted:
            bounds = rack_bounds(factor, brokers_of)
            for rack in range(self.racks):
                least[factor, rack] = bounds.least[names[rack]]
                most[factor, rack] = bounds.most[names[rack]]
        return least, most

    def held(self, lists: Ints) -> Ints:
        """Count the replicas of each list in each rack."""
        held = np.zeros((len(lists), self.most.shape[1]), np.int16)
        rows = np.arange(len(lists))
        for slot in lists.T:
            there = slot >= 0
            held[rows[there], self.rack[slot[there]]] += 1
        return held

    def excess(self, lists: Ints) -> Ints:
        """Return how many replicas of each list must move before it obeys the rack rule."""
        lengths = (lists >= 0).sum(axis=1)
        if not self.shared:
            missing: Ints = ((lists >= 0) & ~self.usable[lists]).sum(axis=1)
            return missing
        step = max(1, CELLS // self.most.shape[1])
        parts = [
            self._excess(lists[start : start + step], lengths[start : start + step])
            for start in range(0, len(lists), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _excess(self, lists: Ints, lengths: Ints) -> Ints:
        held = self.held(lists)
        over = np.maximum(0, held - self.most[lengths]).sum(axis=1)
        short = np.maximum(0, self.least[lengths] - held).sum(axis=1)
        excess: Ints = np.maximum(over, short)
        return excess

    def total_excess(self, lists: Ints) -> int:
        """Return the sum of the excess of all lists. Equal sets are examined once."""
        if not len(lists):
            return 0
        ordered = np.sort(lists, axis=1)
        codes = group_codes(list(ordered.T))
        _, first, counts = np.unique(codes, return_index=True, return_counts=True)
        return int((self.excess(ordered[first]) * counts).sum())


def layout_of(nodes: Sequence[Node], table: Table) -> Layout:
    """Return the brokers and racks of a problem."""
    lengths = (table.replicas >= 0).sum(axis=1)
    return Layout(nodes, table.brokers, np.unique(np.concatenate([table.factor, lengths])).tolist())


def _integers(weights: Sequence[Fraction]) -> Ints:
    """Return integers in the same proportion."""
    common = lcm(*(weight.denominator for weight in weights)) if weights else 1
    return np.array([int(weight * common) for weight in weights], np.int64)


def first_to_drop(layout: Layout, sets: Ints, among: Flags, state: Ints, factor: Ints, counts: Ints) -> Ints:
    """Return the slot of the replica of each set, `among` these, that is dropped first.

    `counts` are the replicas of each broker.

    Sets are padded with -1, and have the leader, if it is a member, in the first slot.
    """
    urgency = np.zeros(sets.shape, np.int64)
    if layout.shared:
        racks = layout.rack[sets]
        held = np.take_along_axis(layout.held(sets), racks, axis=1)
        most = np.take_along_axis(layout.most[factor], racks, axis=1)
        least = np.take_along_axis(layout.least[factor], racks, axis=1)
        urgency = 2 * (held > most) + (held > least)
    follower = np.ones(sets.shape, np.int64)
    follower[:, 0] = 0
    score = ((urgency * 4 + state) * MOST_RANK + _ranks(counts, layout.weights)[sets]) * 2 + follower
    slots: Ints = np.where(among, score, -1).argmax(axis=1)
    return slots


def _ranks(counts: Ints, weights: Ints) -> Ints:
    """Order brokers by their count relative to their weight; equal ones have the same number."""
    if not len(weights) or (weights == weights[0]).all():
        return counts
    ranks: Ints = np.unique(counts / weights, return_inverse=True)[1]
    return ranks


def leaving_offline(layout: Layout, table: Table) -> Flags:
    """Return the offline replicas that are dropped: live ones suffice, or are lost with a drained broker.

    So a partition has as many live replicas as before or as its factor, whichever is less.
    """
    there = table.replicas >= 0
    offline = there & (table.state == OFFLINE)
    live = there.sum(axis=1) - offline.sum(axis=1)
    stays = offline & layout.usable[table.replicas]
    surplus = stays.sum(axis=1) - np.maximum(0, table.factor - live)
    surplus = np.where(table.free, np.maximum(0, surplus), 0)
    result = np.zeros(there.shape, np.bool_)
    rows = np.flatnonzero(surplus)
    if not len(rows):
        return result
    counts = table.counts(table.factor >= 0)
    sets = np.where(there[rows] & layout.usable[table.replicas[rows]], table.replicas[rows], -1)
    for turn in range(int(surplus[rows].max())):
        mine = np.flatnonzero(surplus[rows] > turn)
        state = table.state[rows[mine]]
        among = (sets[mine] >= 0) & (state == OFFLINE)
        slots = first_to_drop(layout, sets[mine], among, state, table.factor[rows[mine]], counts)
        result[rows[mine], slots] = True
        sets[mine, slots] = -1
    return result
