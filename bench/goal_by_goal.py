"""A balance in the manner of Cruise Control: one load after the other, each greedily.

Goals have an order. For each load in turn, the fullest brokers give replicas to the emptiest ones of their
rack, large ones first, and exchange replicas where that does not help. A change that would bring a load of an
earlier goal out of its range, or farther out, is not made. Nothing looks at the bytes that are copied.
"""

import numpy as np

from planner.proposals.by_load.arrangement import Arrangement
from planner.proposals.by_load.task import Task
from planner.proposals.problem.arrays import Ints

MOST_TRIED = 300
"""Replicas of a broker that are tried in one step."""
ROUNDS = 40
"""Rounds over all brokers for each goal."""


def one_after_the_other(task: Task) -> Ints:
    """Return the sets after all goals, in the order of the loads."""
    plan = Arrangement(task, task.remainder.sets)
    for load in range(task.width):
        for _ in range(ROUNDS):
            relative = plan.loads[:, load] / task.ranges.share[:, load]
            changed = [_relieve(plan, task, int(each), load) for each in np.argsort(-relative, kind="stable")]
            if not any(changed):
                break
    return plan.sets


def _relieve(plan: Arrangement, task: Task, broker: int, load: int) -> bool:
    """Give replicas of the broker away until it is in its range; then fill it if it has too little."""
    partners = plan.partners(broker)
    changed = False
    if plan.loads[broker, load] > task.ranges.most[broker, load]:
        changed = _give(plan, task, broker, partners, load)
    if plan.loads[broker, load] < task.ranges.least[broker, load]:
        for other in partners[np.argsort(-plan.loads[partners, load], kind="stable")].tolist():
            if other != broker and plan.loads[broker, load] < task.ranges.least[broker, load]:
                changed |= _give(plan, task, other, np.array([broker]), load)
    return changed


def _give(plan: Arrangement, task: Task, broker: int, targets: Ints, load: int) -> bool:
    places = np.flatnonzero((plan.sets == broker).ravel())
    weights = plan.weights(places, np.full(len(places), broker))
    changed = False
    for number in np.argsort(-weights[:, load], kind="stable")[:MOST_TRIED].tolist():
        excess = plan.loads[broker, load] - task.ranges.least[broker, load]
        if weights[number, load] > excess:
            continue
        for target in targets[np.argsort(plan.loads[targets, load], kind="stable")].tolist():
            if target != broker and _accepted(plan, task, broker, target, weights[number], load):
                if plan.may_be(int(places[number]), target):
                    plan.move(int(places[number]), target)
                    changed = True
                break
        if plan.loads[broker, load] <= task.ranges.most[broker, load] and len(targets) > 1:
            break
    return changed


def _accepted(plan: Arrangement, task: Task, broker: int, target: int, weight: Ints, load: int) -> bool:
    """Whether this load gets nearer to its ranges, and no earlier one gets outside."""
    after, there = plan.loads[broker] - weight, plan.loads[target] + weight
    least, most = task.ranges.least[broker], task.ranges.most[target]
    kept = (after >= np.minimum(least, plan.loads[broker]))[:load].all()
    kept &= (there <= np.maximum(most, plan.loads[target]))[:load].all()
    return bool(kept and there[load] <= most[load] and after[load] >= least[load])
