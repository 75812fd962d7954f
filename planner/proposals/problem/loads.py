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
from planner.proposals.problem.disk_levels import disk_levels
from planner.proposals.problem.goal import (
    LEADER_LOADS,
    RATE_LOADS,
    REPLICA_LOADS,
    CountRange,
    Goal,
    LoadName,
    Moment,
    Problem,
)
from planner.proposals.problem.nodes import RackRule
from planner.proposals.problem.table import Table, per_broker

LEADER_IN, LEADER_OUT, FOLLOWER_IN = 70, 15, 15
"""Weights, in percent, of the bytes that a broker receives as a leader, sends to consumers, and receives as a
follower, in the sum that stands for its CPU time. They are those of Cruise Control."""
RATES_AT: Mapping[Moment, int] = {"now": 0, "busy": 2, "mean": 4}
"""The column of rates with the bytes in; that of bytes out is the next one."""
WORDS_OF: Mapping[Moment, str] = {
    "now": "of the last minutes",
    "busy": "of the busy hour",
    "mean": "as a mean over the day",
}


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
    """Return the load of a new replica of each partition, or what leading it adds to that of following."""
    if load == "replicas":
        return np.ones(table.size, np.int64)
    if load == "bytes":
        sizes: Ints = table.bytes
        return sizes
    if table.rates is None:
        return np.zeros(table.size, np.int64)
    bytes_in, consumed = (_known(table.rates[:, RATES_AT[goal.at] + each]) for each in (0, 1))
    if load == "cpu":
        more: Ints = ((LEADER_IN - FOLLOWER_IN) * bytes_in + LEADER_OUT * consumed) // 100
        return more
    if load != "out":
        return bytes_in
    # Followers read from the leader what producers write.
    sent: Ints = consumed + bytes_in * np.maximum(0, table.factor - 1)
    return sent


def following_weights(table: Table, goal: Goal, load: LoadName) -> Ints:
    """Return what each replica of a partition adds to a load of leaders, whoever leads."""
    if load != "cpu" or table.rates is None:
        return np.zeros(table.size, np.int64)
    added: Ints = FOLLOWER_IN * _known(table.rates[:, RATES_AT[goal.at]]) // 100
    return added


def _known(rates: Rates) -> Ints:
    known: Ints = np.rint(np.nan_to_num(rates)).astype(np.int64)
    return known


OWN_TOPICS = "__reassignd_"
"""Topics that reassignd makes for itself begin with this. The canary of pace appears when a plan is executed,
and what is written to it does not matter."""


class UnknownRates(NamedTuple):
    """Which partitions have no rate, as words; empty if all have one."""

    needed: str
    """Those whose load the plan depends on."""
    others: str


def unknown_rates(problem: Problem) -> UnknownRates:
    """Return which partitions lack a rate that the goal needs.

    Those of reassignd's own topics are not named: they count as 0.
    """
    table, goal = problem.table, problem.goal
    loads = [load for load in goal.loads if load in RATE_LOADS]
    if not loads or not table.size:
        return UnknownRates("", "")
    first = RATES_AT[goal.at]
    last = first + (not {"out", "cpu"}.isdisjoint(loads))
    own = [number for number, name in enumerate(table.topics) if name.startswith(OWN_TOPICS)]
    unknown = ~np.isin(table.topic, own)
    if table.rates is not None:
        unknown &= np.isnan(table.rates[:, first : last + 1]).any(axis=1)
    needed = _needed(problem)
    return UnknownRates(_named(problem, unknown & needed), _named(problem, unknown & ~needed))


def _needed(problem: Problem) -> Flags:
    """Return the partitions whose load a plan depends on.

    They may change, or add to the load of a broker that is relieved or may get something. Nobody writes to
    the ones without a leader.
    """
    table, relieved = problem.table, problem.goal.relieve
    parts = [node.id for node in problem.nodes if node.receives or node.id in relieved]
    takes_part = np.isin(table.brokers, parts)
    by_leader_only = {"out", "leaders-in"}.issuperset(problem.goal.loads)
    lists = table.replicas[:, :1] if by_leader_only else table.replicas
    adds = ((lists >= 0) & takes_part[lists]).any(axis=1)
    needed: Flags = table.free | (adds & (table.leader >= 0))
    return needed


def _named(problem: Problem, chosen: Flags) -> str:
    rows = np.flatnonzero(chosen).tolist()
    if not rows:
        return ""
    partitions = some([f"{topic}-{number}" for topic, number in map(problem.table.name, rows)])
    which = "its rate" if len(rows) == 1 else "their rates"
    return f"{counted(len(rows), 'partition')} without {which} {WORDS_OF[problem.goal.at]}: {partitions}"


def on_replicas(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return the load of each broker by the replicas of these rows, without those that leave."""
    return table.sizes(rows) if load == "bytes" else table.sums(rows, weights_of(table, goal, load))


def on_leaders(table: Table, goal: Goal, load: LoadName, rows: Flags) -> Ints:
    """Return a load of leaders of each broker by these rows, as they are led now."""
    return led_load(table, goal, load, rows, table.replicas[rows], table.led_by[rows])


def led_load(table: Table, goal: Goal, load: LoadName, rows: Flags, lists: Ints, leaders: Ints) -> Ints:
    """Return a load of leaders of each broker by these rows, if they have these lists and leaders."""
    size = len(table.brokers)
    led = per_broker(leaders[:, None], weights_of(table, goal, load)[rows], size)
    return led + per_broker(lists, following_weights(table, goal, load)[rows], size)


def aimed_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return the ranges that a plan is to get brokers into."""
    return kept_ranges(problem, load) if problem.goal.relieves else fair_ranges(problem, load)


def allowed_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return the ranges that a plan must not break."""
    return fair_ranges(problem, load) if problem.goal.even_counts else kept_ranges(problem, load)


def fair_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return what each broker carries within the tolerance if the load is even."""
    return leader_ranges(problem, load) if load in LEADER_LOADS else replica_ranges(problem, load)


def kept_ranges(problem: Problem, load: LoadName) -> Mapping[int, LoadRange]:
    """Return ranges without a least load.

    A broker above its fair range may keep what it carries, unless it is relieved of that.
    """
    table, goal = problem.table, problem.goal
    every = table.factor >= 0
    on_brokers = on_leaders if load in LEADER_LOADS else on_replicas
    carried = dict(zip(table.brokers.tolist(), on_brokers(table, goal, load, every).tolist(), strict=True))
    relieved = goal.relieved_of_loads
    # One that is relieved has a fair share also if it may get nothing, as its disks are full.
    open_ = (node._replace(receives=node.receives or node.id in relieved) for node in problem.nodes)
    fair = fair_ranges(problem._replace(nodes=tuple(open_)), load)
    if load == "bytes" and goal.relieves_disks:
        return _up_to_level(problem, carried, fair)
    result = {}
    for broker, (wanted, share) in fair.items():
        most = wanted.most if broker in relieved else max(wanted.most, carried[broker])
        result[broker] = LoadRange(CountRange(0, most), share)
    return result


def _up_to_level(
    problem: Problem, carried: Mapping[int, int], fair: Mapping[int, LoadRange]
) -> Mapping[int, LoadRange]:
    """Return the bytes with which disks are at most as full as the goal wants, or not fuller than now.

    A tolerance is added: a budget can need one.
    """
    levels = disk_levels(problem)
    known = dict(zip(problem.table.brokers.tolist(), levels.most.tolist(), strict=True))
    most = {node.id: carried[node.id] if node.disk is None else known[node.id] for node in problem.nodes}
    wider = tolerance_of(problem.goal, "bytes")
    return {
        broker: LoadRange(CountRange(0, most[broker] + floor(share * wider)), share)
        for broker, (_, share) in fair.items()
    }


def relieved_of(problem: Problem) -> Flags:
    """Return the brokers that the goal relieves, of disks or of loads."""
    if problem.goal.relieves_disks:
        return disk_levels(problem).relieved
    relieved: Flags = np.isin(problem.table.brokers, sorted(problem.goal.relieve))
    return relieved


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
    table, goal = problem.table, problem.goal
    following = following_weights(table, goal, load) * table.factor
    total = Fraction(int(weights_of(table, goal, load).sum()) + int(following.sum()))
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
