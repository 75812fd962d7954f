"""Brokers whose disks are too full give replicas to brokers that have room; nothing else moves.

Each relieved broker is to get rid of so many bytes that its disks are at most as full as wanted. What it gets
free is the size of its own replica; what is copied is the leader's. Receivers stay below the same level. A
replica keeps its partition's rack rule as it is.

Small problems are solved exactly, as an integer program. For larger ones, replicas leave in order of size:
the largest that fit what is still to leave, then one that covers the rest. The bound is that of each broker
on its own, if a replica could be moved in part.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.disk_levels import DiskLevels, disk_levels, percent_full, relief_notes
from planner.proposals.problem.goal import Problem
from planner.proposals.solver.byte_balance import Budget
from planner.proposals.solver.changed_plan import Placement
from planner.proposals.solver.class_flow import Input
from planner.proposals.solver.quotas import least_cost

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

EXACT_CHOICES = 3_000
"""Most pairs of a replica and a receiver for which the integer program is solved."""
EFFORT = 4.0
"""Bound of the effort for the integer program, in the solver's own deterministic unit."""
MANY = 2**62
RATIO_STEPS = 20
"""Steps per unit of copied per freed bytes in which the replicas of a large problem are ordered."""


class Relief(NamedTuple):
    """A plan, and bounds that hold for every plan that reaches the goal."""

    sets: Ints
    moves_bound: int
    bytes_bound: int
    notes: tuple[str, ...]
    short: tuple[str, ...]
    """A line for each broker that stays too full."""


def relieve(problem: Problem, given: Input) -> Relief:
    """Return the plan. Raises ProposalError if the disks of a broker that is to be relieved are not known."""
    levels = disk_levels(problem)
    sources = np.flatnonzero(levels.over)
    given = given._replace(room=np.where(given.layout.receives, np.minimum(levels.below, given.room), 0))
    plan = _Plan(problem, given, levels.over, np.flatnonzero(given.room))
    bounds = plan.bounds(sources)
    exact = plan.exact() if plan.choices <= EXACT_CHOICES else None
    if exact is None:
        plan.greedy()
    elif exact.proven:
        bounds = max(bounds[0], exact.moves), max(bounds[1], exact.bytes)
    after = levels.used - plan.freed()
    short = tuple(_short(problem, levels, after, each) for each in sources.tolist() if plan.missing[each] > 0)
    notes = relief_notes(problem, levels, after, sources[plan.missing[sources] <= 0])
    return Relief(plan.placement.sets, *bounds, notes, short)


class _Exact(NamedTuple):
    """The cost of a plan of the integer program, and whether it is proven that none costs less."""

    moves: int
    bytes: int
    proven: bool


class _Plan:
    """The replicas that leave. An *entry* is a position in the flattened sets, as in `Placement`.

    `missing` has the bytes that each broker is still to get rid of; it falls below 0 if more leave. `_left`
    is what the plan may still move and copy.
    """

    def __init__(self, problem: Problem, given: Input, missing: Ints, receivers: Ints) -> None:
        self._goal, self._given, self._receivers, self.missing = problem.goal, given, receivers, missing
        self.placement = Placement(given, given.lists, np.zeros(given.layout.size, np.int64))
        most_moves, most_bytes = problem.goal.max_moves, problem.goal.max_bytes
        self._left = Budget(
            MANY if most_moves is None else most_moves, MANY if most_bytes is None else most_bytes
        )
        self._width = given.lists.shape[1]
        self._over = missing.copy()
        lists = given.lists.ravel()
        candidates = (lists >= 0) & (missing > 0)[lists] & (given.own.ravel() > 0)
        self._entries = np.flatnonzero(candidates)
        self._source = lists[self._entries]
        self._own, self._copied = given.own.ravel()[self._entries], given.bytes[self._entries // self._width]

    @property
    def choices(self) -> int:
        """Pairs of a replica and a receiver."""
        return len(self._entries) * len(self._receivers)

    def freed(self) -> Ints:
        """Return the bytes that each relieved broker gets free."""
        freed: Ints = self._over - self.missing
        return freed

    def bounds(self, sources: Ints) -> tuple[int, int]:
        """Return the least moves and the least bytes of any plan that relieves these brokers."""
        moves, copied = 0, 0
        for broker in sources.tolist():
            mine, wanted = self._source == broker, int(self.missing[broker])
            sums = np.cumsum(np.sort(self._own[mine])[::-1])
            moves += min(len(sums), int(np.searchsorted(sums, wanted)) + 1)
            copied += least_cost(self._own[mine], self._copied[mine], wanted)
        return moves, copied

    def _move(self, number: int, target: int) -> None:
        entry, source = int(self._entries[number]), int(self._source[number])
        self.placement.apply(entry, source, target)
        self.missing[source] -= self._own[number]
        self._left = Budget(self._left.moves - 1, self._left.bytes - int(self._copied[number]))

    # ---- large problems ------------------------------------------------------------------------------------

    def greedy(self) -> None:
        """Move replicas until all brokers are relieved, or nothing that helps can move."""
        for broker in np.argsort(-self.missing, kind="stable").tolist():
            if self.missing[broker] > 0:
                self._relieve(np.flatnonzero(self._source == broker), broker)

    def _relieve(self, mine: Ints, broker: int) -> None:
        """Move replicas of one broker: first those that cost few bytes for what they free, and large ones."""
        few_bytes = self._goal.minimize == "bytes"
        ratio = self._copied[mine] * RATIO_STEPS // self._own[mine] if few_bytes else np.zeros(len(mine))
        order = mine[np.lexsort((mine, -self._own[mine], ratio))].tolist()
        moved = self._take(order, broker, stop_at_cover=not few_bytes)
        moved += self._cover([each for each in order if each not in moved], broker)
        moved += self._take([each for each in order if each not in moved], broker, stop_at_cover=False)
        self._take_back(moved, broker)

    def _take(self, order: Sequence[int], broker: int, *, stop_at_cover: bool) -> list[int]:
        """Move the replicas in this order that are not larger than what is still to leave; return them.

        With `stop_at_cover`, end before the first one that covers all of that.
        """
        moved = []
        for number in order:
            if self.missing[broker] <= 0 or (stop_at_cover and self._own[number] >= self.missing[broker]):
                break
            if self._own[number] <= self.missing[broker] and self._place(number):
                moved.append(number)
        return moved

    def _cover(self, others: Sequence[int], broker: int) -> list[int]:
        """Move the cheapest replica that covers what is still to leave, if there is one; return it."""
        if self.missing[broker] <= 0:
            return []
        covering = [each for each in others if self._own[each] >= self.missing[broker]]
        covering.sort(key=self._copied.__getitem__)
        return next(([each] for each in covering if self._place(each)), [])

    def _place(self, number: int) -> bool:
        """Move a replica to the receiver with the most room that may have it. Return whether there is one."""
        if self._left.moves <= 0 or self._copied[number] > self._left.bytes:
            return False
        room = self.placement.room[self._receivers]
        for target in self._receivers[np.argsort(-room, kind="stable")].tolist():
            if self._copied[number] > self.placement.room[target]:
                return False
            if self.placement.may_change(int(self._entries[number]), target):
                self._move(number, target)
                return True
        return False

    def _take_back(self, moved: list[int], broker: int) -> None:
        """Let replicas stay that need not leave any more, the most expensive first."""
        for number in sorted(moved, key=lambda each: -self._copied[each]):
            if self.missing[broker] + self._own[number] <= 0:
                entry = int(self._entries[number])
                self.placement.apply(entry, int(self.placement.sets.ravel()[entry]), broker)
                self.missing[broker] += self._own[number]
                self._left = Budget(self._left.moves + 1, self._left.bytes + int(self._copied[number]))

    # ---- small problems ------------------------------------------------------------------------------------

    def exact(self) -> _Exact | None:
        """Solve the integer program and apply its plan; None if the effort does not suffice for one.

        First the bytes by which brokers stay too full are least, then bytes and moves, or moves and bytes.
        """
        program = _Program(self._given, self._goal.max_moves, self._goal.max_bytes)
        for number, entry in enumerate(self._entries.tolist()):
            for target in self._receivers.tolist():
                if self.placement.may_change(entry, target):
                    own, copied = int(self._own[number]), int(self._copied[number])
                    program.add(_Choice(number, entry, int(self._source[number]), target, own, copied))
        chosen = program.solve(self._over, self.placement.room, bytes_first=self._goal.minimize == "bytes")
        if chosen is None:
            return None
        for number, target in chosen:
            self._move(number, target)
        moved = [number for number, _ in chosen]
        reached = not (self.missing > 0).any()
        return _Exact(len(moved), int(self._copied[moved].sum()), program.proven and reached)


class _Choice(NamedTuple):
    """A replica that may move to the target; `number` is its position in the plan's entries."""

    number: int
    entry: int
    source: int
    target: int
    own: int
    copied: int


class _Program:
    """The integer program: a variable for each replica and receiver that may have it."""

    def __init__(self, given: Input, max_moves: int | None, max_bytes: int | None) -> None:
        self._given, self._width = given, given.lists.shape[1]
        self._limits = max_moves, max_bytes
        self._choices: list[_Choice] = []
        self.proven = True

    def add(self, choice: _Choice) -> None:
        """Add a replica and a receiver."""
        self._choices.append(choice)

    def solve(self, over: Ints, room: Ints, *, bytes_first: bool) -> list[tuple[int, int]] | None:
        """Return the replicas that move and their targets; None if none was found."""
        from ortools.sat.python import cp_model

        if not self._choices:
            return []
        model = cp_model.CpModel()
        taken = [model.new_bool_var("") for _ in self._choices]
        self._constrain(model, taken, room)
        sources = np.flatnonzero(over).tolist()
        short = {each: model.new_int_var(0, int(over[each]), "") for each in sources}
        for each in sources:
            freed = sum(
                row.own * var for row, var in zip(self._choices, taken, strict=True) if row.source == each
            )
            model.add(freed + short[each] >= int(over[each]))
        copied = sum(row.copied * var for row, var in zip(self._choices, taken, strict=True))
        most_moves, most_bytes = self._limits
        if most_moves is not None:
            model.add(sum(taken) <= most_moves)
        if most_bytes is not None:
            model.add(copied <= most_bytes)
        costs = [copied, sum(taken)] if bytes_first else [sum(taken), copied]
        found: list[tuple[int, int]] | None = None
        for cost in [sum(short.values()), *costs]:
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = EFFORT
            model.minimize(cost)
            status = solver.solve(model)
            if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
                self.proven = False
                return found
            self.proven = self.proven and status == cp_model.OPTIMAL
            values = [bool(solver.value(var)) for var in taken]
            found = [(row.number, row.target) for row, yes in zip(self._choices, values, strict=True) if yes]
            model.add(cost <= round(solver.objective_value))
        return found

    def _constrain(self, model: "CpModel", taken: Sequence[Any], room: Ints) -> None:
        """One place for each replica, one replica of a partition on a broker, racks as they are, and room."""
        given, rack = self._given, self._given.layout.rack
        groups: dict[tuple[object, ...], list[Any]] = {}
        arriving: dict[int, list[Any]] = {}
        for (_, entry, source, target, _, copied), var in zip(self._choices, taken, strict=True):
            row = entry // self._width
            groups.setdefault(("entry", entry), []).append(var)
            groups.setdefault(("broker", row, target), []).append(var)
            if given.layout.shared and rack[source] != rack[target]:
                groups.setdefault(("racks", row), []).append(var)
            arriving.setdefault(target, []).append(copied * var)
        for members in groups.values():
            model.add_at_most_one(members)
        for target, parts in arriving.items():
            model.add(sum(parts) <= int(room[target]))


def _short(problem: Problem, levels: DiskLevels, after: Ints, broker: int) -> str:
    wanted = float(100 * problem.goal.relieve_to)
    full = percent_full(int(after[broker]), int(levels.total[broker]))
    return (
        f"broker {problem.table.brokers[broker]} stays {full} full instead of"
        f" {wanted:g} %: no other replica of it fits below {wanted:g} % elsewhere"
    )
