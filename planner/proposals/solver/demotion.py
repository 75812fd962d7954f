"""Brokers that are to lead nothing while they keep their replicas: who takes over, and in which order.

A demoted broker leads a partition if it is the preferred leader, or if it leads it now. The new leader is
another replica in sync; those who take over get leaders as evenly as the replicas allow. The demoted brokers
become the last of the list: Kafka elects the first replica in sync, so they lead again only if all others
fail.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import LeftOut, Problem
from planner.proposals.problem.table import IN_SYNC, Table
from planner.proposals.solver.leaders import spread_over


class Handover(NamedTuple):
    """Partitions that demoted brokers lead, or are the preferred leader of. Flags have a row for each one."""

    leads: Flags
    """Whether a demoted broker leads the partition, now or by preference, or would lead it."""
    able: Flags
    """For each replica: whether it may take over."""

    @property
    def possible(self) -> Flags:
        """Whether the partition is led by another broker afterwards."""
        able: Flags = self.leads & self.able.any(axis=1)
        return able


def handover(table: Table, sets: Ints, leaders: Ints, demoted: Flags, usable: Flags) -> Handover:
    """Return what demoted brokers hand over.

    `sets` are the new replicas of the partitions that may change, where those that are kept have their old
    position; `leaders` lead them as far as the other goals ask.
    """
    lists, present = table.replicas[table.free], table.leader[table.free]
    padding = ((0, 0), (0, sets.shape[1] - lists.shape[1]))
    kept = sets == np.pad(lists, padding, constant_values=-1)
    in_sync = ~kept | (np.pad(table.state[table.free], padding) == IN_SYNC)
    leads = demoted[leaders]
    for led in (lists[:, 0], present):
        stays = (sets == led[:, None]).any(axis=1) & (led >= 0)
        leads = leads | (stays & demoted[led])
    return Handover(leads, (sets >= 0) & in_sync & (usable & ~demoted)[sets])


def taken_by_others(found: Handover, lists: Ints, sets: Ints, leaders: Ints, fixed: Ints) -> Ints:
    """Return the leaders of the partitions after the handover, spread evenly over those who take over.

    `fixed` counts the leaders of partitions that may not change.
    """
    leader_able = (found.able & (sets == leaders[:, None])).any(axis=1)
    change = found.possible & ~leader_able
    rows, result = np.flatnonzero(change), leaders.copy()
    counts = fixed + np.bincount(leaders[~change], minlength=len(fixed))
    result[rows] = spread_over(lists[rows], sets[rows], found.able[rows], counts)
    return result


def with_demoted_last(found: Handover, lists: Ints, demoted: Flags) -> Ints:
    """Return the lists with the demoted brokers at the end, where another broker leads."""
    rows = np.flatnonzero(found.possible)
    mine = lists[rows]
    keys = np.where(mine < 0, 2, demoted[mine]).astype(np.int8)
    result = lists.copy()
    result[rows] = np.take_along_axis(mine, np.argsort(keys, axis=1, kind="stable"), axis=1)
    return result


def elections(found: Handover, table: Table, lists: Ints) -> Flags:
    """Return the partitions whose list stays as it is, and whose preferred leader is only to be elected."""
    elected: Flags = found.possible & table.unchanged(lists)
    return elected


def kept_leaderships(found: Handover, problem: Problem, sets: Ints, leaders: Ints) -> tuple[LeftOut, ...]:
    """Return the partitions that stay with a demoted broker, and why."""
    table = problem.table
    numbers = np.flatnonzero(table.free)
    demoted, left_out = problem.goal.demote, []
    for row in np.flatnonzero(found.leads & ~found.possible).tolist():
        now = int(table.leader[numbers[row]])
        leader = int(table.brokers[now if now >= 0 and table.brokers[now] in demoted else leaders[row]])
        members = table.brokers[sets[row][sets[row] >= 0]].tolist()
        if len(members) == 1:
            why = "which has the only replica"
        elif demoted.issuperset(members):
            why = "all of whose replicas are on demoted brokers"
        else:
            why = "none of whose other replicas can take over: they are not in sync, or are demoted"
        left_out.append(LeftOut(*table.name(int(numbers[row])), f"led by broker {leader}, {why}"))
    return tuple(left_out)
