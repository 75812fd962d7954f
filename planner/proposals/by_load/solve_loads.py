"""The solver for goals that even out loads by name: the door of this folder."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from planner.proposals.by_load.balance import Balanced, balanced_sets, narrowed, within_budget
from planner.proposals.by_load.leading import Led, leaders_by_load
from planner.proposals.by_load.task import task_of
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.disk_levels import disk_levels, relief_notes
from planner.proposals.problem.goal import Problem, ProposalError
from planner.proposals.problem.layout import layout_of
from planner.proposals.problem.loads import leader_loads, relieved_of, replica_loads
from planner.proposals.problem.table import IN_SYNC
from planner.proposals.solver.class_flow import Input
from planner.proposals.solver.leaders import taken_over
from planner.proposals.solver.notes import disk_notes, rack_notes
from planner.proposals.solver.solve import Placed, Solution, Solver

NARROWER = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16))
"""Parts of the tolerance of replicas with which leaders that stay uneven are tried again."""
LEADERS_BETTER = 0.5
"""At most this part of what leaders were outside of their ranges may be left: else the data that moves for
them is not worth it."""
MOST_NARROWED = 20_000
"""With more partitions, no plan is tried again: none of them is heavy enough to matter, and each plan takes
seconds."""


def solve_loads(problem: Problem) -> Solution:
    """Find a plan for loads. Raises ProposalError, MissingSolverError."""
    return _LoadSolver(problem).solve()


class _LoadSolver(Solver):
    """Places of replicas follow from the loads of replicas, leaders from those of leaders.

    Where the goal has only one kind, the other choice is that of any goal. Goals that do not even out loads
    move what they have to; loads say where.
    """

    def _relieved(self, given: Input) -> Solution:
        """Relieved brokers give what they have above their ranges; they get nothing."""
        placed = Placed(given.lists, 0, 0)
        if replica_loads(self._goal):
            placed, _ = self._moved(self._closed(given))
        if self._goal.relieves_disks:
            self._notes += self._disks(given, placed.sets)
        return self._finish(given.lists, placed, 0)._replace(bytes_estimate=placed.bytes_estimate)

    def _closed(self, given: Input) -> Input:
        """Return the input in which relieved brokers get nothing, and the disks of no other too much."""
        table, room = self._problem.table, given.room
        closed = set(table.brokers[relieved_of(self._problem)].tolist())
        if self._goal.relieves_disks:
            room = np.minimum(room, disk_levels(self._problem).below)
        nodes = [
            node._replace(receives=node.receives and node.id not in closed) for node in self._problem.nodes
        ]
        return given._replace(layout=layout_of(nodes, table), room=room)

    def _disks(self, given: Input, sets: Ints) -> tuple[str, ...]:
        """Return how full disks are after the plan."""
        levels = disk_levels(self._problem)
        gained = given.held(sets) - given.held(given.lists)
        return relief_notes(self._problem, levels, levels.used + gained, np.flatnonzero(levels.over))

    def _moved(self, given: Input) -> tuple[Placed, int]:
        if not replica_loads(self._goal):
            return super()._moved(given)
        found, wider = self._balanced(given)
        if wider is None:
            self._check_required(given, self._placed(given))
            raise ProposalError(["no plan for even loads fits the budget"])
        if wider:
            self._notes.append(_less_even(wider))
        self._notes += rack_notes(self._problem, given.layout, given.factor) + disk_notes(self._problem)
        required = int(given.required.sum())
        return Placed(found.sets, required, found.bytes_bound, found.estimate), 0

    def _balanced(self, given: Input) -> tuple[Balanced, Fraction | None]:
        """Return the sets, and by how much ranges were widened for the budget; None if no width suffices."""

        def fits(sets: Ints) -> bool:
            return self._fits(given, Placed(sets, 0, 0))

        if self._goal.even_counts or self._goal.relieves:
            found, wider = within_budget(self._problem, given, fits)
            return found if wider else self._with_even_leaders(given, found, fits), wider
        found = balanced_sets(self._problem, given)
        return found, Fraction(0) if fits(found.sets) else None

    def _with_even_leaders(self, given: Input, found: Balanced, fits: Callable[[Ints], bool]) -> Balanced:
        """Return sets in which leaders can be more even, if narrower ranges of replicas lead to them.

        Which brokers may lead follows from the sets: of five hot partitions on one pair of brokers and three
        on another, one broker leads three, though all replicas are within their ranges.
        """
        if not (self._goal.even_leaders and leader_loads(self._goal)) or len(given.lists) > MOST_NARROWED:
            return found
        task = task_of(self._problem, given)
        if task.violation(found.sets) > 0:  # What is too heavy for replicas is so for leaders.
            return found
        best, outside = found, self._led(given.lists, found.sets).outside
        for part in NARROWER:
            if outside <= 0:
                break
            sets = balanced_sets(narrowed(self._problem, part), given).sets
            after = self._led(given.lists, sets).outside
            if after <= outside * LEADERS_BETTER and task.violation(sets) <= 0 and fits(sets):
                _, copied = given.cost(sets)
                bound = min(found.bytes_bound, copied)
                best, outside = found._replace(sets=sets, bytes_bound=bound), after
        return best

    def _finish(self, lists: Ints, placed: Placed, widened: int) -> Solution:
        """Choose the leaders, who are elected: without that, loads of leaders would stay where they are."""
        solution = super()._finish(lists, placed, widened)
        if solution.elected is not None or not leader_loads(self._goal):
            return solution
        return solution._replace(elected=self._wrongly_led(solution.lists))

    def _wrongly_led(self, lists: Ints) -> Flags:
        """Return the partitions whose list stays, and whose preferred leader can lead, but does not."""
        table = self._problem.table
        free, leader = table.free, table.leader[table.free]
        if not self._goal.even_leaders:
            return np.zeros(len(lists), np.bool_)
        takes = self._layout.usable & ~np.isin(table.brokers, sorted(self._goal.receive_nothing))
        able = (table.state[free][:, 0] == IN_SYNC) & takes[lists[:, 0]]
        wrong: Flags = (leader >= 0) & (leader != lists[:, 0]) & able & table.unchanged(lists)
        return wrong

    def _leaders(self, lists: Ints, sets: Ints) -> Ints:
        if not leader_loads(self._goal):
            return super()._leaders(lists, sets)
        found = self._led(lists, sets)
        self._notes += found.notes
        return found.leaders

    def _led(self, lists: Ints, sets: Ints) -> Led:
        table = self._problem.table
        states = table.state[table.free]
        first = taken_over(lists, sets, states, self._fixed_leaders())
        return leaders_by_load(self._problem, lists, sets, first, states, self._able)


def _less_even(wider: Fraction) -> str:
    return (
        f"the budget leaves loads less even: a broker may be {100 * float(wider):.1f} % of its fair share"
        " further outside"
    )
