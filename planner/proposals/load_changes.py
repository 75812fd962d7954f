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
    now, then = (lists[:, :1] if leads else lists for lists in (table.replicas, after))
    if load == "bytes":  # Replicas that stay have sizes of their own.
        amounts = {each.broker: (each.before.bytes, each.after.bytes) for each in brokers}
    else:
        sums = (per_broker(lists, weights, len(table.brokers)).tolist() for lists in (now, then))
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
    return "no change that was tried brings it nearer without moving another broker away"
