"""Loads that a plan can even out, as a number for each replica or each leader of a partition.

A load of replicas is the same on each replica, or its own size. A load of leaders is what a partition brings
to the broker that leads it. Rates are in whole bytes per second, so that sums are exact.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from common.wording import counted
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.counts import Amounts, ideal_shares
from planner.proposals.problem.goal import RATE_LOADS, CountRange, Goal, LoadName, Problem
from planner.proposals.problem.nodes import RackRule
from planner.proposals.problem.table import Columns, Table, per_broker

REPLICA_LOADS: tuple[LoadName, ...] = ("replicas", "bytes", "in")
LEADER_LOADS: tuple[LoadName, ...] = ("out", "leaders-in")
MOST_NAMES = 5
"""Most partitions that a line names."""


class LoadRange(NamedTuple):
    """What a broker should carry of a load, and its fair share, out-of-scope partitions included."""

    range: CountRange
    share: Fraction


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
    bytes_in, bytes_out = (np.rint(np.nan_to_num(each)).astype(np.int64) for each in rates(table, goal))
    # Followers read from the leader what producers write.
    rate: Ints = bytes_in if load != "out" else bytes_out + bytes_in * np.maximum(0, table.factor - 1)
    return rate


def rates(table: Table, goal: Goal) -> tuple[Ints, Ints]:
    """Return bytes in and bytes out per second of each partition, not a number where they are not known."""
    if table.rates is None:
        return np.full(table.size, np.nan), np.full(table.size, np.nan)
    first = 2 * (goal.at == "busy")
    return table.rates[:, first], table.rates[:, first + 1]


def unknown_rates(columns: Columns, goal: Goal) -> str:
    """Return which partitions have no rate that the goal needs; empty if all have one."""
    needed = [load for load in goal.loads if load in RATE_LOADS]
    if not needed or not len(columns.topic):
        return ""
    first = 2 * (goal.at == "busy")
    names = {first, *({first + 1} if "out" in needed else ())}
    rows = list(range(len(columns.topic)))
    if columns.rates is not None:
        rows = np.flatnonzero(np.isnan(columns.rates[:, sorted(names)]).any(axis=1)).tolist()
    if not rows:
        return ""
    partitions = [f"{topic}-{number}" for topic, number in map(columns.name, rows[:MOST_NAMES])]
    more = ", …" if len(rows) > MOST_NAMES else ""
    when = "busy hour" if goal.at == "busy" else "last minutes"
    which = "its rate" if len(rows) == 1 else "their rates"
    return f"{counted(len(rows), 'partition')} without {which} of the {when}: {', '.join(partitions)}{more}"


def on_replicas(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return the load of each broker by the replicas of these rows, without those that leave."""
    weights = table.own[rows] if load == "bytes" else weights_of(table, goal, load)[rows]
    staying = np.where(table.leaves[rows], -1, table.replicas[rows])
    return per_broker(staying, weights, len(table.brokers))


def on_leaders(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return the load of each broker by the preferred leaders of these rows."""
    weights = weights_of(table, goal, load)[rows]
    return per_broker(table.replicas[rows][:, :1], weights, len(table.brokers))


def replica_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return what each usable broker should carry. One that gets nothing new keeps what it has."""
    table, goal = problem.table, problem.goal
    ids, free = table.brokers.tolist(), table.free
    held, fixed = on_replicas(table, goal, load, free), on_replicas(table, goal, load, ~free)
    weights = table.mean_sizes() if load == "bytes" else weights_of(table, goal, load)
    factors, of_free = table.factor[free], weights[free]
    by_factor = {each: int(of_free[factors == each].sum()) for each in np.unique(factors).tolist()}
    amounts = Amounts(
        by_factor,
        dict(zip(ids, fixed.tolist(), strict=True)),
        dict(zip(ids, held.tolist(), strict=True)),
    )
    shares = ideal_shares(problem, RackRule(problem.nodes), amounts)
    result = {broker: _around(share, tolerance_of(goal, load)) for broker, share in shares.items()}
    present = dict(zip(ids, (held + fixed).tolist(), strict=True))
    for node in problem.usable:
        if not node.receives:
            count = present[node.id]
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


def bounds_of(table: Table, ranges: Sequence[Mapping[int, LoadRange]]) -> tuple[Ints, Ints, Ints]:
    """Return least, most and fair share of each broker (row) and load (column).

    Without a range a broker may carry anything.
    """
    ids = table.brokers.tolist()
    free = LoadRange(CountRange(0, 2**60), Fraction(0))
    every = [[each.get(broker, free) for each in ranges] for broker in ids]
    least = np.array([[each.range.least for each in row] for row in every], np.float64)
    most = np.array([[each.range.most for each in row] for row in every], np.float64)
    share = np.array([[float(each.share) for each in row] for row in every], np.float64)
    shape = (len(ids), len(ranges))
    return least.reshape(shape), most.reshape(shape), share.reshape(shape)
