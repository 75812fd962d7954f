"""The effect of a plan on the loads that the goal evens out, and why brokers stay outside of their ranges."""

from collections.abc import Sequence

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.goal import LoadName, Problem
from planner.proposals.problem.loads import (
    leader_loads,
    leader_ranges,
    replica_loads,
    replica_ranges,
    weights_of,
)
from planner.proposals.problem.table import per_broker
from planner.proposals.result import BrokerChange, CarriedLoad, LoadChange, in_units


def load_changes(problem: Problem, after: Ints, brokers: Sequence[BrokerChange]) -> tuple[LoadChange, ...]:
    """Return the loads of the goal before the plan, and with the replica lists `after`."""
    goal = problem.goal
    if not goal.even_counts:
        return ()
    of_replicas = [_change(problem, each, after, brokers, leads=False) for each in replica_loads(goal)]
    return (
        *of_replicas,
        *(_change(problem, each, after, brokers, leads=True) for each in leader_loads(goal)),
    )


def _change(
    problem: Problem, load: LoadName, after: Ints, brokers: Sequence[BrokerChange], *, leads: bool
) -> LoadChange:
    table = problem.table
    weights = weights_of(table, problem.goal, load)
    ranges = leader_ranges(problem, load) if leads else replica_ranges(problem, load)
    lists = after[:, :1] if leads else after
    now = table.replicas[:, :1] if leads else table.replicas
    size = len(table.brokers)
    ids = table.brokers.tolist()
    held = dict(zip(ids, per_broker(now, weights, size).tolist(), strict=True))
    then = dict(zip(ids, per_broker(lists, weights, size).tolist(), strict=True))
    if load == "bytes":
        held = {each.broker: each.before.bytes for each in brokers}
        then = {each.broker: each.after.bytes for each in brokers}
    carried = []
    for broker in sorted(ranges):
        (least, most), share = ranges[broker]
        each = CarriedLoad(broker, held[broker], then[broker], least, most, float(share))
        carried.append(each._replace(reason=_reason(problem, load, lists, weights, each)))
    return LoadChange(load, tuple(carried))


def _reason(problem: Problem, load: LoadName, lists: Ints, weights: Ints, each: CarriedLoad) -> str | None:
    if each.least <= each.after <= each.most:
        return None
    table = problem.table
    mine = np.flatnonzero((table.brokers[lists] == each.broker).any(axis=1) & (lists[:, 0] >= 0))
    heaviest = int(mine[weights[mine].argmax()]) if len(mine) else -1
    if each.after > each.most and heaviest >= 0 and weights[heaviest] > each.most:
        topic, partition = table.name(heaviest)
        return f"{topic}-{partition} alone has {in_units(load, int(weights[heaviest]))}"
    largest = int(weights.max(initial=0))
    if largest > each.most - each.least:
        topic, partition = table.name(int(weights.argmax()))
        most = in_units(load, largest)
        return f"partitions are too large for the tolerance: {topic}-{partition} has {most}"
    if problem.goal.max_moves is not None or problem.goal.max_bytes is not None:
        return "the budget allows no more"
    return "no change that was tried brings it nearer without moving another broker away"
