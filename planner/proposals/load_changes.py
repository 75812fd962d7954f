"""The effect of a plan on the loads that the goal evens out, and why brokers stay outside of their ranges."""

from collections.abc import Sequence

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.goal import LEADER_LOADS, LoadName, Problem
from planner.proposals.problem.loads import (
    allowed_ranges,
    leader_loads,
    led_load,
    replica_loads,
    weights_of,
)
from planner.proposals.problem.table import per_broker
from planner.proposals.result import BrokerChange, CarriedLoad, LoadChange, in_units


def load_changes(
    problem: Problem, after: Ints, leaders: Ints, brokers: Sequence[BrokerChange]
) -> tuple[LoadChange, ...]:
    """Return the loads of the goal before the plan, and with the replica lists `after` and these leaders."""
    loads = *replica_loads(problem.goal), *leader_loads(problem.goal)
    return tuple(_change(problem, each, after, leaders, brokers) for each in loads)


def _change(
    problem: Problem, load: LoadName, after: Ints, leaders: Ints, brokers: Sequence[BrokerChange]
) -> LoadChange:
    table = problem.table
    weights, ranges = weights_of(table, problem.goal, load), allowed_ranges(problem, load)
    then = leaders[:, None] if load in LEADER_LOADS else after
    if load == "bytes":  # Replicas that stay have sizes of their own.
        amounts = {each.broker: (each.before.bytes, each.after.bytes) for each in brokers}
    else:
        states = (table.replicas, table.led_by), (after, leaders)
        sums = (_carried(problem, load, *state).tolist() for state in states)
        amounts = dict(zip(table.brokers.tolist(), zip(*sums, strict=True), strict=True))
    carried = []
    for position, broker in enumerate(table.brokers.tolist()):
        if broker in ranges:
            (least, most), share = ranges[broker]
            each = CarriedLoad(broker, *amounts[broker], least, most, float(share))
            if not least <= each.after <= most:
                mine = np.where((then == position).any(axis=1), weights, 0)
                each = each._replace(reason=_reason(problem, load, weights, mine, each))
            carried.append(each)
    return LoadChange(load, tuple(carried))


def _carried(problem: Problem, load: LoadName, lists: Ints, leaders: Ints) -> Ints:
    table = problem.table
    if load in LEADER_LOADS:
        return led_load(table, problem.goal, load, table.factor >= 0, lists, leaders)
    return per_broker(lists, weights_of(table, problem.goal, load), len(table.brokers))


def _reason(problem: Problem, load: LoadName, weights: Ints, mine: Ints, each: CarriedLoad) -> str:
    """Return why a broker stays outside of its range. `mine` are the weights of what it has, else 0."""

    def heaviest(among: Ints) -> tuple[str, str]:
        topic, partition = problem.table.name(int(among.argmax()))
        return f"{topic}-{partition}", in_units(load, int(among.max()))

    if each.after > each.most and mine.max(initial=0) > each.most:
        name, amount = heaviest(mine)
        return f"{name} alone has {amount}"
    if weights.max(initial=0) > each.most - each.least:
        name, amount = heaviest(weights)
        return f"partitions are too large for the tolerance: {name} has {amount}"
    if problem.goal.max_moves is not None or problem.goal.max_bytes is not None:
        return "the budget allows no more"
    if not problem.goal.even_counts:
        return "no other place was found for what it gets or has"
    return "no change that was tried brings it nearer without moving another broker away"
