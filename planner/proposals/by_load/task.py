"""A balance by loads as arrays: what replicas weigh, where they are, and what brokers should carry.

Matrices of loads have a row for each broker, or each replica, and a column for each load. Their numbers are
integers below 2^53, held as floating-point numbers: sums are exact.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints, Rates
from planner.proposals.problem.goal import Problem
from planner.proposals.problem.loads import (
    Ranges,
    aimed_ranges,
    bounds_of,
    on_replicas,
    relieved_of,
    replica_loads,
    weights_of,
)
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.class_flow import Input
from planner.proposals.solver.remainder import Remainder, remainder_of


class Task(NamedTuple):
    """What to even out. A replica on its present broker may have another size than a copy."""

    given: Input
    remainder: Remainder
    ranges: Ranges
    fixed: Rates
    """Loads of each broker by the partitions that may not change."""
    settled: Rates
    """These, and the loads by replicas that stay where they are in any case."""
    movable: Flags
    """By partition and position in its list: whether the replica may leave its broker."""
    new: Rates
    """By partition: the load of a new replica."""
    own: Ints
    """By partition and position in its list: the bytes of the present replica."""
    bytes_at: int
    """The column of bytes; -1 if bytes are not a load."""

    def home(self, rows: Ints, columns: Ints) -> Rates:
        """Return the loads of present replicas."""
        loads = self.new[rows]
        if self.bytes_at >= 0:
            loads[:, self.bytes_at] = self.own[rows, columns]
        return loads

    def carried(self, sets: Ints) -> Rates:
        """Return the loads of each broker in these sets, in which kept replicas are at their positions."""
        size = self.given.layout.size
        loads = [per_broker(sets, self.new[:, each].astype(np.int64), size) for each in range(self.width)]
        if self.bytes_at >= 0:
            loads[self.bytes_at] = self.given.held(sets)
        carried: Rates = self.fixed + np.stack(loads, axis=1)
        return carried

    @property
    def width(self) -> int:
        """Number of loads."""
        return int(self.new.shape[1])

    def violation(self, sets: Ints) -> float:
        """Return by how many fair shares usable brokers, in all, are outside of their ranges."""
        usable = np.flatnonzero(self.given.layout.usable)
        return float(self.ranges.outside(self.carried(sets)[usable], usable).sum())


def task_of(problem: Problem, given: Input) -> Task:
    """Return the task of a problem for `given`, which may be a later state of it."""
    table, names = problem.table, replica_loads(problem.goal)
    ranges = bounds_of(table, [aimed_ranges(problem, each) for each in names])
    rows = table.free
    new = np.stack([weights_of(table, problem.goal, each)[rows] for each in names], axis=1).astype(np.float64)
    fixed = np.stack([on_replicas(table, problem.goal, each, ~rows) for each in names], axis=1)
    remainder = remainder_of(given)
    own, carried = given.sizes_in(remainder.old), fixed.astype(np.float64)
    bytes_at = names.index("bytes") if "bytes" in names else -1
    movable = _movable(problem, remainder)
    task = Task(given, remainder, ranges, carried, carried, movable, new, own, bytes_at)
    staying = np.where(movable, -1, remainder.sets)
    return task._replace(settled=task.carried(staying)) if (staying >= 0).any() else task


def _movable(problem: Problem, remainder: Remainder) -> Flags:
    """Return which replicas may leave.

    All of them to even out loads, those of relieved brokers to relieve these, else only those that have to.
    """
    if problem.goal.even_counts:
        return remainder.sets >= 0
    relieved = relieved_of(problem)
    movable: Flags = (remainder.sets >= 0) & relieved[remainder.sets]
    return movable


class Items(NamedTuple):
    """Replicas that may leave, and holes: replicas that a partition lacks, which are on broker -1."""

    row: Ints
    column: Ints
    broker: Ints
    home: Rates
    """The load at the broker; of a hole, that of a new replica."""
    new: Rates
    """The load of a new replica."""
    cost: Rates
    """Bytes to copy."""

    def of(self, which: Ints | Flags) -> "Items":
        """Return some of them."""
        return Items(*(each[which] for each in self))


def items_of(task: Task) -> tuple[Items, Ints]:
    """Return all replicas that may leave and all holes, and the scope of each."""
    remainder, given = task.remainder, task.given
    rows, columns = np.nonzero(task.movable)
    brokers = remainder.sets[rows, columns]
    scope = remainder.scope[brokers]
    hole_rows, hole_scopes = _holes(task)
    none = np.full(len(hole_rows), -1)
    row = np.concatenate([rows, hole_rows])
    home = np.concatenate([task.home(rows, columns), task.new[hole_rows]])
    broker, column = np.concatenate([brokers, none]), np.concatenate([columns, none])
    items = Items(row, column, broker, home, task.new[row], given.bytes[row].astype(np.float64))
    return items, np.concatenate([scope, hole_scopes])


def _holes(task: Task) -> tuple[Ints, Ints]:
    """Return the partition and the scope of each missing replica."""
    remainder, layout = task.remainder, task.given.layout
    missing = np.maximum(0, remainder.holes)
    rows = np.flatnonzero(missing)
    if not remainder.racks_are_fixed:
        return np.repeat(rows, missing[rows]), np.zeros(int(missing.sum()), np.int64)
    lacking = layout.most[task.given.factor[rows]] - layout.held(remainder.sets[rows])
    scopes = np.repeat(np.tile(np.arange(lacking.shape[1]), len(rows)), lacking.ravel())
    return np.repeat(rows, lacking.sum(axis=1)), scopes
