"""`/v1/status`, `/v1/pause`, `/v1/resume`: the state of the whole server, and a pause of all jobs."""

from controller.messages.job_events import Pause
from controller.throttle.desired import throttle_rate
from controller.views.jobs import totals
from controller.views.reassignments import counts
from server.api.call import Call
from server.api.errors import require
from server.api.models import (
    BrokerCounts,
    ClusterHealth,
    Incoming,
    PartitionCounts,
    Paused,
    Status,
    Throttle,
    Totals,
)
from server.api.rows import SAMPLE, count_by_job, count_reasons, idle_reasons, job_row, limit_rows
from server.api.table import Endpoint

JOBS = 20
"""Number of unfinished jobs that are shown, the oldest first."""


async def status(call: Call) -> Status:
    """Return the state of the server and the cluster."""
    state = call.state
    counts_by_job = await count_by_job(call)
    reasons = await call.collect(idle_reasons(call), SAMPLE)
    open_jobs = [job for number in sorted(state.open)[:JOBS] if (job := state.jobs.get(number)) is not None]
    return Status(
        version=call.core.version,
        cluster_id=call.core.cluster_id,
        paused=state.paused,
        brokers=_broker_counts(call),
        partitions=_partition_counts(call),
        health=ClusterHealth(state.health_problem or None, state.backlog.usage.held),
        reassignments=Totals(*totals(state)),
        jobs=[job_row(call, job, counts_by_job) for job in open_jobs],
        incoming=_incoming(call),
        reasons=count_reasons(reasons),
        sampled=len(reasons),
        limits=limit_rows(state),
        throttle=Throttle(throttle_rate(state), len(state.leases)),
        spark=call.core.spark(),
    )


async def pause(call: Call) -> Paused:
    """Start no more steps of any job. Steps in flight continue."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> Paused:
    """Start steps again. Jobs that were paused on their own stay paused."""
    return await _set_paused(call, paused=False)


async def _set_paused(call: Call, *, paused: bool) -> Paused:
    outcome = await call.submit(Pause(None, paused))
    require(outcome)
    return Paused(paused)


def _broker_counts(call: Call) -> BrokerCounts:
    brokers, live = call.state.brokers, call.state.live
    return BrokerCounts(len(brokers), len(live), sorted(brokers.keys() - live))


def _partition_counts(call: Call) -> PartitionCounts:
    health = counts(call.state)
    return PartitionCounts(health.partitions, health.offline, health.under_replicated, health.under_min_isr)


def _incoming(call: Call) -> list[Incoming]:
    rates = call.core.progress.to_brokers()
    return [
        Incoming(broker, rate.moved, rate.total, rate.rate, rate.seconds_left)
        for broker, rate in rates.items()
    ]


ENDPOINTS = (
    Endpoint("GET", "/v1/status", "Get the state of the cluster, the jobs and the limits.", status, Status),
    Endpoint("POST", "/v1/pause", "Pause all jobs: start no steps.", pause, Paused),
    Endpoint("POST", "/v1/resume", "Lift the pause of all jobs.", resume, Paused),
)
