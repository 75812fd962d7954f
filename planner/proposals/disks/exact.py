"""Small brokers as integer programs. The solver (CP-SAT of OR-tools) takes bytes as integers: it is exact."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.proposals.disks.dir_task import DirTask, Targets

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, LinearExprT

MOST_CHOICES = 1_500
"""Most pairs of a replica and a directory for which a program is solved."""
EFFORT = 0.5
"""Bound of the effort for each program, in the solver's own deterministic unit."""
TOTAL_EFFORT = 10.0
"""The same for all programs of a proposal."""


class Effort:
    """What is left of the effort for the programs of a proposal."""

    def __init__(self, left: float = TOTAL_EFFORT) -> None:
        self.left = left

    def suffices(self, choices: int) -> bool:
        """Whether a program with so many pairs of a replica and a directory is to be solved."""
        return choices <= MOST_CHOICES and self.left > 0


class Best(NamedTuple):
    """The moves with the least of an aim: whether that is proven, and a bound that none undercut."""

    targets: Targets
    proven: bool
    bound: int


def exactly_even(task: DirTask, found: Targets, effort: Effort) -> tuple[Targets, int]:
    """Return moves as good as those that were found, or better, and a bound of their bytes.

    First directories are least outside of their ranges, then fewest bytes are copied, by the fewest moves.
    Moves that bring directories nearer to their ranges are taken only if none bring them nearer still: then
    another proposal after them finds nothing to do.
    """
    program = _Program(task.sizes, task.room, task.homes, effort)
    used, parts = program.used_after(task), []
    for place, after in enumerate(used):
        program.model.add(after <= task.limit(place))
        most = max(task.limit(place), task.least[place])
        parts.append(program.model.new_int_var(0, most, ""))
        program.model.add(parts[-1] >= after - task.most[place])
        program.model.add(parts[-1] >= task.least[place] - after)
    outside = task.outside(task.used_after(found))
    if outside:
        nearest = program.best(sum(parts), lambda each: task.outside(task.used_after(each)), found)
        if not nearest.proven:
            return found, task.bytes_bound(outside)
        found, outside = nearest.targets, nearest.bound
    program.model.add(sum(parts) <= outside)
    fewest = program.best(program.copied(task.sizes), task.copied, found)
    bound = max(fewest.bound, task.bytes_bound(outside))
    if not fewest.proven:
        return fewest.targets, bound
    program.model.add(program.copied(task.sizes) <= bound)
    return program.best(sum(program.on.values()), len, fewest.targets).targets, bound


def exactly_packed(sizes: Sequence[int], rooms: Sequence[int], found: Targets, effort: Effort) -> Targets:
    """Return places for replicas as good as those that were found, or with more bytes that have one."""
    program = _Program(sizes, rooms, [-1] * len(sizes), effort)
    total = sum(sizes)
    return program.best(
        total - program.copied(sizes), lambda each: total - sum(sizes[item] for item in each), found
    ).targets


class _Program:
    """A variable for each replica and each directory that it may move to."""

    def __init__(
        self, sizes: Sequence[int], rooms: Sequence[int], homes: Sequence[int], effort: Effort
    ) -> None:
        """What arrives in a directory has room there, and no replica gets two places."""
        from ortools.sat.python import cp_model

        self._library: Any = cp_model
        self._effort = effort
        self.model: CpModel = cp_model.CpModel()
        self.on: dict[tuple[int, int], Any] = {}
        for item, size in enumerate(sizes):
            targets = [each for each, room in enumerate(rooms) if each != homes[item] and 0 < size <= room]
            self.on.update(((item, target), self.model.new_bool_var("")) for target in targets)
            if len(targets) > 1:
                self.model.add_at_most_one([self.on[item, target] for target in targets])
        for place, room in enumerate(rooms):
            parts = [sizes[item] * each for (item, target), each in self.on.items() if target == place]
            if parts:
                self.model.add(sum(parts) <= room)

    def copied(self, sizes: Sequence[int]) -> "LinearExprT":
        """Return the bytes that move."""
        total: LinearExprT = sum(sizes[item] * each for (item, _), each in self.on.items())
        return total

    def used_after(self, task: DirTask) -> list["LinearExprT"]:
        """Return what each directory uses afterwards."""
        used: list[LinearExprT] = list(task.used)
        for (item, target), each in self.on.items():
            used[task.homes[item]] -= task.sizes[item] * each
            used[target] += task.sizes[item] * each
        return used

    def best(self, cost: "LinearExprT", value: Callable[[Targets], int], found: Targets) -> Best:
        """Return the moves with the least cost; `value` computes it of moves, such as those to begin with."""
        if not self.on:
            return Best(found, True, value(found))
        self.model.clear_hints()  # type: ignore[no-untyped-call] # OR-tools gives it no types
        for (item, target), variable in self.on.items():
            self.model.add_hint(variable, found.get(item) == target)
        solver = self._library.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = EFFORT
        self.model.minimize(cost)
        status = solver.solve(self.model)
        self._effort.left -= solver.response_proto.deterministic_time
        if status not in {self._library.OPTIMAL, self._library.FEASIBLE}:
            return Best(found, False, 0)
        chosen = {item: target for (item, target), each in self.on.items() if solver.value(each)}
        best = min(found, chosen, key=value)
        proven = status == self._library.OPTIMAL
        return Best(best, proven, value(best) if proven else max(0, int(solver.best_objective_bound)))
