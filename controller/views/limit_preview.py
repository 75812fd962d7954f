"""The effect that other limits would have now.

The steps that would start, and those in flight that exceed them.
"""

from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import NamedTuple

from controller.execution.throttle import throttle_rate
from controller.model.cluster import TopicPartition
from controller.model.configs import THROTTLE
from controller.model.limits import PlanLimits
from controller.reassignment.phases import Phase, phase_of
from controller.reassignment.planning import plan_step
from controller.scheduling.buckets import Planned
from controller.scheduling.limits import LIMITS, Cost, capacities_of, limits_of
from controller.scheduling.trial import Trial
from controller.state.state import State
from controller.views.jobs import broker_loads, stopped_reason

MOST_STEPS = 500
"""Steps that are examined: as many as two decisions start."""


class BrokerEffect(NamedTuple):
    """Replicas to and from a broker.

    They are those of steps in flight, of steps that would start, and above the new limit B.
    """

    broker: int
    incoming: int
    outgoing: int
    starting_in: int
    starting_out: int
    excess_in: int
    excess_out: int


class LimitPreview(NamedTuple):
    """The effect of limits."""

    starts: int
    """Waiting steps that would start."""
    more: bool
    """`MOST_STEPS` steps were examined, and there are more."""
    stopped: str
    """Why no step starts at all, whatever the limits; empty if steps start."""
    throttle: int | None
    """The throttle in force then."""
    excess: dict[str, int]
    """By name: what steps in flight use above the new limit. For R, the steps that add more replicas."""
    brokers: list[BrokerEffect]


def preview_limits(state: State, configs: Mapping[str, str]) -> LimitPreview:
    """Return the effect if these were the limits and the throttle of the cluster-wide configs now.

    The state does not change.
    """
    limits, stopped = limits_of(configs), stopped_reason(state)
    trial, assumed = Trial(state.backlog, limits), copy(state)
    assumed.backlog = trial
    assumed.throttle.rates = {job: rate for job, rate in state.throttle.rates.items() if job}
    if THROTTLE in configs:
        assumed.throttle.rates[0] = int(configs[THROTTLE])
    started, more = ([], False) if stopped else _started(assumed, trial)
    incoming, outgoing = Counter[int](), Counter[int]()
    for cost in started:
        incoming.update(cost.incoming)
        outgoing[cost.source] += len(cost.incoming)
    loads = {load.broker: load[1:] for load in broker_loads(state)}
    brokers = [
        BrokerEffect(
            broker,
            *(used := loads.get(broker, (0, 0))),
            incoming[broker],
            outgoing[broker],
            *(max(0, each - limits.per_broker) for each in used),
        )
        for broker in sorted({*loads, *incoming, *(each for each in outgoing if outgoing[each])})
    ]
    excess = _excess(state, limits)
    return LimitPreview(len(started), more, stopped, throttle_rate(assumed), excess, brokers)


def _started(state: State, trial: Trial) -> tuple[list[Cost], bool]:
    """Return the costs of the steps that would start, and whether there are more of them."""
    started: list[Cost] = []
    for examined, step in enumerate(trial.candidates()):
        if examined == MOST_STEPS:
            return started, True
        cost = None if step is None else _start(state, trial, step[0])
        if cost is not None:
            started.append(cost)
    return started, False


def _start(state: State, trial: Trial, key: TopicPartition) -> Cost | None:
    """Count the step as started, as `controller.reassignment.reassignments.start` does.

    The result is None if the step cannot start.
    """
    partition = state.cluster.partition(*key)
    if partition is None or phase_of(state, key) is not Phase.QUEUED:
        return None
    reassignment = state.orders.reassignments[key]
    job = state.orders.jobs.get(reassignment.job)
    plan = plan_step(state, partition, reassignment)
    if plan.waits_for or (job is not None and job.paused):
        return None
    if trial.usage.exhausted(capacities_of(plan.cost)) is not None:
        wave = trial.planned.wave_of(key)
        trial.add(key, plan.rank, plan.cost, None if wave is None else Planned(reassignment.job, wave))
        return None
    trial.charge(key, plan.cost)
    return plan.cost


def _excess(state: State, limits: PlanLimits) -> dict[str, int]:
    used, costs = state.backlog.usage.by_limit(), state.backlog.costs.values()
    excess = {}
    for limit in LIMITS:
        most, taken = limit.of(limits), used[limit.name]
        larger = sum(len(cost.incoming) > most for cost in costs) if taken is None else taken - most
        excess[limit.name] = max(0, larger)
    return excess
