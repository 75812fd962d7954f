"""Which of a partition's replicas is dropped first.

The order is: offline ones before all others; then those in a rack that has too many; those that are not in sync; those on the
fullest broker; the leader last. Offline replicas are dropped only as far as live ones remain for the wanted factor: a broker that
is offline for a while keeps what it has.
"""

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.layout import Layout
from planner.proposals.problem.table import OFFLINE, Table


def first_to_drop(layout: Layout, sets: Ints, among: Flags, state: Ints, factor: Ints, counts: Ints) -> Ints:
    """Return the slot of the replica of each set, `among` these, that is dropped first. `counts` are the replicas of each broker.

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
    score = ((urgency * 4 + state) * 2**40 + _ranks(counts, layout.weights)[sets]) * 2 + follower
    slots: Ints = np.where(among, score, -1).argmax(axis=1)
    return slots


def _ranks(counts: Ints, weights: Ints) -> Ints:
    """Order brokers by their count relative to their weight; equal ones have the same number."""
    if not len(weights) or (weights == weights[0]).all():
        return counts
    ranks: Ints = np.unique(counts / weights, return_inverse=True)[1]
    return ranks


def leaving_offline(layout: Layout, table: Table) -> Flags:
    """Return the offline replicas that are dropped, because live ones suffice for the factor or are lost with a drained broker.

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
