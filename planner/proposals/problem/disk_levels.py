"""How full the disks of brokers are, and what has to leave those that are to be relieved."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from common.wording import some
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import Problem, ProposalError
from planner.proposals.problem.nodes import Disk


class DiskLevels(NamedTuple):
    """By broker, in bytes: its disks and what is used of them before the plan, 0 where they are not known."""

    total: Ints
    used: Ints
    held: Ints
    """What replicas use."""
    wanted: Ints
    """What may be used at the level that the goal wants."""
    relieved: Flags
    """Whether the broker is to be relieved."""

    @property
    def over(self) -> Ints:
        """What is to leave each relieved broker."""
        over: Ints = np.where(self.relieved, np.maximum(0, self.used - self.wanted), 0)
        return over

    @property
    def below(self) -> Ints:
        """What each broker that is not relieved can get below the level."""
        below: Ints = np.where(self.receives, np.maximum(0, self.wanted - self.used), 0)
        return below

    @property
    def most(self) -> Ints:
        """What the replicas of each broker may have in all."""
        most: Ints = np.maximum(0, self.held + self.below - self.over)
        return most

    @property
    def receives(self) -> Flags:
        """Which brokers may get something, as far as levels tell."""
        receives: Flags = (self.total > 0) & ~self.relieved
        return receives


def disk_levels(problem: Problem) -> DiskLevels:
    """Return the levels. Raises ProposalError if those of a broker that is to be relieved are not known."""
    goal, ids = problem.goal, problem.table.brokers.tolist()
    nodes = {node.id: node for node in problem.nodes}
    named = goal.relieve if goal.relieve_over is None else nodes.keys()
    unknown = [each for each in sorted(named) if nodes[each].disk is None]
    if unknown and (goal.relieve_over is None or len(unknown) == len(nodes)):
        raise ProposalError([f"{_brokers(unknown)} not report how full the disks are (Kafka 3.3)"])
    disks = ((nodes[each].disk if each in nodes else None) or Disk(0, 0, 0) for each in ids)
    total, used, held = np.array(list(disks), np.int64).reshape(-1, 3).T
    wanted = np.array([floor(each * goal.relieve_to) for each in total.tolist()], np.int64)
    return DiskLevels(total, used, held, wanted, _relieved(problem, total, used))


def _relieved(problem: Problem, total: Ints, used: Ints) -> Flags:
    """Return the brokers that are to be relieved: those that are named, and those above the level."""
    goal = problem.goal
    flags = np.isin(problem.table.brokers, sorted(goal.relieve))
    if goal.relieve_over is not None:
        flags |= np.array(
            [u > t * goal.relieve_over for t, u in zip(total.tolist(), used.tolist(), strict=True)]
        )
    return flags


def relief_notes(problem: Problem, levels: DiskLevels, after: Ints, relieved: Ints) -> tuple[str, ...]:
    """Return a line for each of the relieved brokers, and one for brokers that tell nothing of their disks.

    `after` has what is used by broker after the plan.
    """
    names, totals = problem.table.brokers[relieved].tolist(), levels.total[relieved].tolist()
    before, then = levels.used[relieved].tolist(), after[relieved].tolist()
    lines = [
        f"broker {name}: disks {percent_full(used, total)} full, then {percent_full(left, total)}"
        for name, used, left, total in zip(names, before, then, totals, strict=True)
    ]
    silent = [node.id for node in problem.nodes if node.disk is None]
    if silent:
        lines.append(f"left as they are: {_brokers(silent)} not report how full the disks are")
    return tuple(lines)


def percent_full(used: int, total: int) -> str:
    """Return how full disks are, as words."""
    return f"{float(Fraction(100 * used, total)):.1f} %"


def _brokers(ids: Sequence[int]) -> str:
    return f"broker {ids[0]} does" if len(ids) == 1 else f"brokers {some(ids)} do"
