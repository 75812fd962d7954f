"""`/v1/status`, `/v1/pause`, `/v1/resume`: the state of the whole server, and a pause of all jobs."""

from collections.abc import Sequence

from common.counted import counted
from controller.cluster.health import missing_brokers, offline_brokers
from controller.messages.job_events import Pause
from controller.state.state import State
from controller.throttle.desired import throttle_rate, throttle_source
from controller.throttle.others import rates_of_others
from controller.views.jobs import totals
from controller.views.reassignments import counts
from server.api.call import Call
from server.api.errors import require
from server.api.models.shared import Paused
from server.api.models.status import (
    BrokerCounts,
    ClusterHealth,
    Incoming,
    PartitionCounts,
    Status,
    Throttle,
    Totals,
)
from server.api.resources.limits import limit_rows
from server.api.resources.pace import pace_state
from server.api.resources.schedule import state_of
from server.api.table import Endpoint
from server.api.views.forecast_rate import by_rate
from server.api.views.job_rows import job_rows, other_reasons, reason_rows, tally

JOBS = 20
"""Number of unfinished jobs that are shown, the oldest first."""

NAMED = 5
"""Number of brokers that are named for the same problem."""


async def status(call: Call) -> Status:
    """Return the state of the server and the cluster."""
    state = call.state
    reasons = (await tally(call)).all_reasons()
    open_jobs = [job for number in sorted(state.open)[:JOBS] if (job := state.jobs.get(number)) is not None]
    rows = await job_rows(call, open_jobs)
    brokers = _broker_counts(call)
    return Status(
        version=call.services.version,
        cluster_id=call.services.cluster_id(),
        paused=state.paused,
        brokers=brokers,
        partitions=_partition_counts(call),
        health=_health(state, brokers),
        reassignments=Totals(*totals(state)),
        jobs=rows,
        incoming=_incoming(call),
        reasons=reason_rows(reasons),
        other_reasons=other_reasons(reasons),
        limits=limit_rows(state),
        throttle=_throttle(state),
        pace=pace_state(state),
        schedule=None if state.schedule is None else state_of(state.schedule, state.opening),
        cancel_mode="stop" if state.cancel_stops else "rollback",
        spark=call.services.spark(),
    )


async def pause(call: Call) -> Paused:
    """Start no more steps of any job. Steps in flight continue."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> Paused:
    """Start steps again. Jobs that were paused on their own stay paused."""
    return await _set_paused(call, paused=False)


async def _set_paused(call: Call, *, paused: bool) -> Paused:
    outcome = await call.submit(Pause(None, paused, call.requester))
    require(outcome)
    return Paused(paused)


def _broker_counts(call: Call) -> BrokerCounts:
    brokers, live = call.state.brokers, call.state.live
    excluded = None if call.state.profile.has_upstream else sorted(call.state.excluded_brokers)
    hidden = sorted(call.services.hidden_brokers())
    offline, missing = offline_brokers(call.state), missing_brokers(call.state)
    idle = [broker for broker in offline if broker not in missing]
    return BrokerCounts(len(brokers), len(live), offline, idle, excluded, hidden)


def _partition_counts(call: Call) -> PartitionCounts:
    health = counts(call.state)
    return PartitionCounts(health.partitions, health.offline, health.under_replicated, health.under_min_isr)


def problems(state: State, brokers: BrokerCounts) -> list[str]:
    """Return what is wrong with the cluster, and which brokers clients do not see; empty when all is well."""
    found = counts(state)
    partitions = (
        (found.offline, "offline"),
        (found.under_min_isr, "under min ISR"),
        (found.under_replicated, "under-replicated"),
    )
    return [
        *([state.unreachable] if state.unreachable else []),
        *_first(missing_brokers(state), "broker {} is offline", "{} are offline in total"),
        *(f"{counted(number, 'partition')} {how}" for number, how in partitions if number),
        *_first(
            brokers.hidden,
            "clients do not see broker {}: its port cannot be opened",
            "clients do not see {} in total",
        ),
    ]


def _first(brokers: Sequence[int], one: str, all_: str) -> list[str]:
    """Return a line for each of the first brokers, and one for all if there are more."""
    lines = [one.format(broker) for broker in brokers[:NAMED]]
    return lines if len(brokers) <= NAMED else [*lines, all_.format(counted(len(brokers), "broker"))]


def _health(state: State, brokers: BrokerCounts) -> ClusterHealth:
    unseen_since = state.unreachable_since_ms if state.unreachable else None
    return ClusterHealth(
        problems(state, brokers),
        state.health_problem or None,
        state.backlog.usage.held,
        unseen_since,
    )


def _throttle(state: State) -> Throttle:
    unlisted = sum(state.unlisted.values())
    source = throttle_source(state) or None
    others = by_rate(rates_of_others(state))
    return Throttle(throttle_rate(state), source, len(state.leases), unlisted, others)


def _incoming(call: Call) -> list[Incoming]:
    rates = call.services.progress.to_brokers()
    return [Incoming(broker, *rate) for broker, rate in rates.items()]


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/status",
        "Get the state of the cluster, the jobs and the limits.",
        status,
        Status,
        shared=True,
    ),
    Endpoint("POST", "/v1/pause", "Pause all jobs: start no steps.", pause, Paused),
    Endpoint("POST", "/v1/resume", "Lift the pause of all jobs.", resume, Paused),
)
