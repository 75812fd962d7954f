"""Small problems as integer programs: first brokers are least outside of their ranges, then fewest bytes."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.proposals.by_load.arrangement import Arrangement
from planner.proposals.by_load.dealing import places_of
from planner.proposals.by_load.task import Items, Task
from planner.proposals.problem.arrays import Ints

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, LinearExprT

MOST_CHOICES = 12_000
"""Most pairs of a replica and a broker for which the program is solved."""
EFFORT = 1.0
"""Bound of the effort for each program, in the solver's own deterministic unit."""
STEPS = 10_000
"""Parts of a fair share in which it is counted how far a broker is outside."""


def choices_of(task: Task, items: Items) -> int:
    """Return the pairs of a replica and a broker that may receive."""
    return len(items.row) * int(task.given.layout.receives.sum())


def exact_sets(task: Task, items: Items, start: Ints) -> Ints:
    """Return the best sets that the effort suffices for; `start` are sets to begin with."""
    program = _Program(task, items)
    return program.solve(start)


class _Program:
    """A variable for each replica and each broker that it may be on."""

    def __init__(self, task: Task, items: Items) -> None:
        from ortools.sat.python import cp_model

        self._library: Any = cp_model
        self._task, self._items = task, items
        self._plan = Arrangement(task, task.remainder.sets)
        self._model: CpModel = cp_model.CpModel()
        self._places = places_of(self._plan, items)
        self._on = [self._variables(number) for number in range(len(items.row))]

    def _variables(self, number: int) -> dict[int, Any]:
        """Return the variables of a replica by broker. A partition in the rack rule keeps its racks."""
        home = int(self._items.broker[number])
        place, layout = int(self._places[number]), self._task.given.layout
        row = int(self._items.row[number])
        old = self._task.remainder.old[row]
        receives = layout.receives & (self._task.given.bytes[row] <= self._plan.room)
        targets = np.flatnonzero(receives & ~np.isin(np.arange(layout.size), old)).tolist()
        if home < 0 and (own := int(self._plan.home.ravel()[place])) >= 0 and layout.usable[own]:
            targets = [each for each in targets if each != own]
        return {each: self._model.new_bool_var("") for each in ([home] if home >= 0 else []) + targets}

    def solve(self, start: Ints) -> Ints:
        """Return the best sets that the effort suffices for, of three aims, each after the one before."""
        self._constrain()
        if self._task.given.layout.shared:
            self._keep_racks()
        moving = [
            (int(self._items.cost[number]), variable)
            for number, options in enumerate(self._on)
            for broker, variable in options.items()
            if broker != self._items.broker[number]
        ]
        outside = self._outside()
        copied = sum(cost * variable for cost, variable in moving)
        costs = [outside, copied, sum(variable for _, variable in moving)]
        complete = int((start >= 0).sum()) == int(self._task.given.factor.sum())
        if complete and self._task.violation(start) <= 0:
            self._model.add(outside == 0)
            costs = costs[1:]
        found = start
        for cost in costs:
            self._hint(found)
            solver = self._library.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = EFFORT
            self._model.minimize(cost)
            if solver.solve(self._model) not in {self._library.OPTIMAL, self._library.FEASIBLE}:
                break
            found = self._sets(solver)
            self._model.add(cost <= round(solver.objective_value))
        return found

    def _constrain(self) -> None:
        """Each replica has one place, no broker two of a partition, and what arrives fits on its disks."""
        by_row: dict[tuple[int, int], list[Any]] = defaultdict(list)
        arriving: dict[int, list[Any]] = defaultdict(list)
        for number, options in enumerate(self._on):
            self._model.add_exactly_one(options.values())
            row = int(self._items.row[number])
            for broker, variable in options.items():
                by_row[row, broker].append(variable)
                if broker != self._items.broker[number]:
                    arriving[broker].append(int(self._items.cost[number]) * variable)
        for variables in by_row.values():
            self._model.add_at_most_one(variables)
        for broker, parts in arriving.items():
            self._model.add(sum(parts) <= int(self._plan.room[broker]))

    def _keep_racks(self) -> None:
        """No partition gets farther from the rack rule. One that lacks replicas obeys it if they suffice."""
        layout, factor = self._task.given.layout, self._task.given.factor
        held = layout.held(self._task.remainder.sets)
        settled = layout.held(np.where(self._task.movable, -1, self._task.remainder.sets))
        there: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for number, options in enumerate(self._on):
            for broker, variable in options.items():
                there[int(self._items.row[number]), int(layout.rack[broker])].append(variable)
        for (row, rack), variables in there.items():
            least, most = layout.least[factor[row]], layout.most[factor[row]]
            holes = int(factor[row]) - int(held[row].sum())
            enough = int(np.maximum(0, least - held[row]).sum()) <= holes
            at_least = int(least[rack]) if holes and enough else min(int(least[rack]), int(held[row, rack]))
            count = sum(variables) + int(settled[row, rack])
            self._model.add(count >= at_least)
            self._model.add(count <= max(int(most[rack]), int(held[row, rack])))

    def _outside(self) -> "LinearExprT":
        """Return the sum of how far brokers are outside of their ranges, in steps of their fair shares."""
        task, total = self._task, []
        parts: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        for number, options in enumerate(self._on):
            for broker, variable in options.items():
                parts[broker].append((number, variable))
        for broker in np.flatnonzero(task.given.layout.usable).tolist():
            for load in range(task.width):
                fixed = int(task.settled[broker, load])
                weights = [int(self._weight(number, broker, load)) for number, _ in parts[broker]]
                variables = [variable for _, variable in parts[broker]]
                held = fixed + sum(weight * each for weight, each in zip(weights, variables, strict=True))
                share = float(task.ranges.share[broker, load])
                least, most = int(task.ranges.least[broker, load]), int(task.ranges.most[broker, load])
                step = max(1, int(share) // STEPS)
                # No larger than needed: the solver refuses a sum that could exceed 64 bits.
                outside = self._model.new_int_var(0, max(least, fixed + sum(weights)) // step + 1, "")
                self._model.add(held - step * outside <= most)
                self._model.add(held + step * outside >= least)
                total.append(max(1, round(STEPS * step / share)) * outside)
        cost: LinearExprT = sum(total)
        return cost

    def _weight(self, number: int, broker: int, load: int) -> float:
        loads = self._items.home if self._items.broker[number] == broker else self._items.new
        return float(loads[number, load])

    def _hint(self, sets: Ints) -> None:
        self._model.clear_hints()  # type: ignore[no-untyped-call] # OR-tools gives it no types
        for number, options in enumerate(self._on):
            there = int(sets.ravel()[self._places[number]])
            for broker, variable in options.items():
                self._model.add_hint(variable, broker == there)

    def _sets(self, solver: "CpSolver") -> Ints:
        sets = self._task.remainder.sets.copy()
        for number, options in enumerate(self._on):
            chosen = next(broker for broker, variable in options.items() if solver.value(variable))
            sets.ravel()[self._places[number]] = chosen
        return sets
