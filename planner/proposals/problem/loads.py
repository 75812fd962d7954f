"""Loads that a plan can even out, as a number for each replica or each leader of a partition.

A load of replicas is the same on each replica, or its own size. A load of leaders is what a partition brings
to the broker that leads it. Rates are in whole bytes per second, so that sums are exact.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from common.wording import counted, some
from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints, Rates
from planner.proposals.problem.counts import amounts_of, ideal_shares
from planner.proposals.problem.goal import RATE_LOADS, CountRange, Goal, LoadName, Problem
from planner.proposals.problem.nodes import RackRule
from planner.proposals.problem.table import Columns, Table, per_broker

REPLICA_LOADS: tuple[LoadName, ...] = ("replicas", "bytes", "in")
LEADER_LOADS: tuple[LoadName, ...] = ("out", "leaders-in")


class LoadRange(NamedTuple):
    """What a broker should carry of a load, and its fair share, out-of-scope partitions included."""

    range: CountRange
    share: Fraction


class Ranges(NamedTuple):
    """Least, most and fair share of each broker (row) and load (column)."""

    least: Rates
    most: Rates
    share: Rates
    """At least 1, so that it can be divided by."""

    def outside(self, loads: Rates, brokers: Ints) -> Rates:
        """Return by how many fair shares the loads of these brokers, in all, are outside."""
        beyond = np.maximum(loads - self.most[brokers], self.least[brokers] - loads)
        result: Rates = (np.maximum(beyond, 0) / self.share[brokers]).sum(axis=-1)
        return result


def replica_loads(goal: Goal) -> list[LoadName]:
    """Return the loads of the goal that follow from where replicas are."""
    return [each for each in REPLICA_LOADS if each in goal.loads]


def leader_loads(goal: Goal) -> list[LoadName]:
    """Return the loads of the goal that follow from who leads."""
    return [each for each in LEADER_LOADS if each in goal.loads]


def tolerance_of(goal: Goal, load: LoadName) -> Fraction:
    """Return the allowed deviation from the fair share of a load, as a fraction of it."""
    common = goal.tolerance
    if load == "bytes" and goal.byte_tolerance is not None:
        common = goal.byte_tolerance
    return goal.tolerance_of.get(load, common)


def weights_of(table: Table, goal: Goal, load: LoadName) -> Ints:
    """Return the load of a new replica of each partition, or of leading it."""
    if load == "replicas":
        return np.ones(table.size, np.int64)
    if load == "bytes":
        sizes: Ints = table.bytes
        return sizes
    if table.rates is None:
        return np.zeros(table.size, np.int64)
    bytes_in = _known(table.rates[:, _bytes_in(goal)])
    if load != "out":
        return bytes_in
    # Followers read from the leader what producers write.
    sent: Ints = _known(table.rates[:, _bytes_in(goal) + 1]) + bytes_in * np.maximum(0, table.factor - 1)
    return sent


def _bytes_in(goal: Goal) -> int:
    """Return the column of rates with the bytes in that count; that of bytes out is the next one."""
    return 2 * (goal.at == "busy")


def _known(rates: Rates) -> Ints:
    known: Ints = np.rint(np.nan_to_num(rates)).astype(np.int64)
    return known


def unknown_rates(columns: Columns, goal: Goal) -> str:
    """Return which partitions have no rate that the goal needs; empty if all have one."""
    needed = [load for load in goal.loads if load in RATE_LOADS]
    if not needed or not len(columns.topic):
        return ""
    first = _bytes_in(goal)
    last = first + ("out" in needed)
    rows = list(range(len(columns.topic)))
    if columns.rates is not None:
        rows = np.flatnonzero(np.isnan(columns.rates[:, first : last + 1]).any(axis=1)).tolist()
    if not rows:
        return ""
    partitions = some([f"{topic}-{number}" for topic, number in map(columns.name, rows)])
    when = "busy hour" if goal.at == "busy" else "last minutes"
    which = "its rate" if len(rows) == 1 else "their rates"
    return f"{counted(len(rows), 'partition')} without {which} of the {when}: {partitions}"


def on_replicas(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return the load of each broker by the replicas of these rows, without those that leave."""
    return table.sizes(rows) if load == "bytes" else table.sums(rows, weights_of(table, goal, load))


def on_leaders(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return the load of each broker by the preferred leaders of these rows."""
    weights = weights_of(table, goal, load)[rows]
    return per_broker(table.replicas[rows][:, :1], weights, len(table.brokers))


def replica_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return what each usable broker should carry. One that gets nothing new keeps what it has."""
    table, goal = problem.table, problem.goal
    weights = table.mean_sizes() if load == "bytes" else weights_of(table, goal, load)
    amounts = amounts_of(problem, weights, partial(on_replicas, table, goal, load))
    shares = ideal_shares(problem, RackRule(problem.nodes), amounts)
    result = {broker: _around(share, tolerance_of(goal, load)) for broker, share in shares.items()}
    for node in problem.usable:
        if not node.receives:
            count = amounts.held[node.id] + amounts.fixed[node.id]
            result[node.id] = LoadRange(CountRange(count if node.live else 0, count), Fraction(count))
    return result


def leader_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return what each broker that may lead should carry. The fair share is that of its weight."""
    total = Fraction(int(weights_of(problem.table, problem.goal, load).sum()))
    nodes = [node for node in problem.nodes if node.receives and node.id not in problem.goal.demote]
    weight = sum((node.weight for node in nodes), Fraction(0))
    tolerance = tolerance_of(problem.goal, load)
    return {node.id: _around(total * node.weight / weight, tolerance) for node in nodes}


def _around(share: Fraction, tolerance: Fraction) -> LoadRange:
    return LoadRange(CountRange(floor(share * (1 - tolerance)), ceil(share * (1 + tolerance))), share)


def bounds_of(table: Table, ranges: Sequence[Mapping[int, LoadRange]]) -> Ranges:
    """Return the ranges of brokers and loads as arrays.

    Without a range a broker may carry anything.
    """
    ids = table.brokers.tolist()
    free = LoadRange(CountRange(0, UNBOUNDED), Fraction(0))
    every = [[each.get(broker, free) for each in ranges] for broker in ids]
    least = np.array([[each.range.least for each in row] for row in every], np.float64)
    most = np.array([[each.range.most for each in row] for row in every], np.float64)
    share = np.array([[float(each.share) for each in row] for row in every], np.float64)
    shape = (len(ids), len(ranges))
    return Ranges(least.reshape(shape), most.reshape(shape), np.maximum(1.0, share.reshape(shape)))
