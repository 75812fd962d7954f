"""`/v1/status`, `/v1/pause`, `/v1/resume`: everything at a glance, and the big switch."""

from typing import Any

from controller.messages.job_events import Pause
from controller.reassignment.throttle import throttle_rate
from controller.views.jobs import totals
from controller.views.reassignments import counts
from server.api.call import Call
from server.api.errors import require
from server.api.shown import SAMPLE, job_row, limit_rows, pace_row, reasons, resting, tally
from server.api.table import Endpoint

JOBS = 20
"""Jobs under way that are shown, the oldest first."""


async def status(call: Call) -> dict[str, Any]:
    """What people want to know first."""
    state = call.state
    counted = await tally(call)
    texts = await call.taken(resting(call), SAMPLE)
    health = counts(state)
    under_way = [job for number in sorted(state.open)[:JOBS] if (job := state.jobs.get(number)) is not None]
    return {
        "version": call.core.version,
        "cluster_id": call.core.cluster_id,
        "paused": state.paused,
        "brokers": {
            "registered": len(state.brokers),
            "live": len(state.live),
            "offline": sorted(state.brokers.keys() - state.live),
        },
        "partitions": {
            "total": health.partitions,
            "offline": health.offline,
            "under_replicated": health.under_replicated,
            "under_min_isr": health.under_min_isr,
        },
        "health": {"trouble": state.health_problem or None, "holds": state.backlog.usage.held},
        "reassignments": totals(state)._asdict(),
        "jobs": [job_row(call, job, counted) for job in under_way],
        "incoming": [
            {"broker": broker, **(pace_row(pace) or {})}
            for broker, pace in call.core.progress.to_brokers().items()
        ],
        "reasons": reasons(texts),
        "sampled": len(texts),
        "limits": limit_rows(state),
        "throttle": {"bytes_per_second": throttle_rate(state), "leases": len(state.leases)},
        "spark": call.core.spark().row(),
    }


async def pause(call: Call) -> dict[str, Any]:
    """Start no step of any job; those in flight go on."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> dict[str, Any]:
    """Go on; jobs that were paused by themselves stay so."""
    return await _set_paused(call, paused=False)


async def _set_paused(call: Call, *, paused: bool) -> dict[str, Any]:
    outcome = await call.submit(Pause(None, paused))
    require(outcome)
    return {"paused": paused}


ENDPOINTS = (
    Endpoint("GET", "/v1/status", "Get the state of the cluster, the jobs and the limits.", status, "Status"),
    Endpoint("POST", "/v1/pause", "Pause all jobs: start no steps.", pause, "Paused"),
    Endpoint("POST", "/v1/resume", "Lift the pause of all jobs.", resume, "Paused"),
)
