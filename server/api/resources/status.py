"""`/v1/status`, `/v1/pause`, `/v1/resume`: the state of the whole server, and a pause of all jobs."""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Annotated, Literal

from msgspec import Meta, Struct

from common.wording import counted
from controller.cluster.health import missing_brokers, offline_brokers
from controller.execution.throttle import rates_of_others, throttle_leases, throttle_rate, throttle_source
from controller.messages.job_events import Pause
from controller.state.state import State
from controller.views.jobs import totals
from controller.views.reassignments import counts
from server.api.resources.limits import Limit, limit_rows
from server.api.resources.pace import PaceState, pace_state
from server.api.resources.schedule import ScheduleState, state_of
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import require
from server.api.shared.forecasts import by_rate
from server.api.shared.job_rows import Job, job_rows, other_reasons, reason_rows, tally
from server.api.shared.models import (
    CopiedBytes,
    CopyBytesPerSecond,
    OtherReasons,
    Paused,
    Reason,
    SecondsLeft,
    ThrottledBrokers,
    TotalBytes,
)
from server.api.shared.spark import Spark


class Totals(Struct):
    """Numbers of reassignments. `moving`, `waiting` and `queued` add up to `ongoing`."""

    ongoing: int
    moving: int
    stalled: Annotated[int, Meta(description="Those of `moving` whose step makes no progress.")]
    waiting: int
    queued: int
    pending: Annotated[
        int, Meta(description="Partitions of queued plans that wait for an earlier reassignment.")
    ]
    others: Annotated[int, Meta(description="Reassignments that reassignd did not start.")]
    directories: Annotated[
        int, Meta(description="Replicas that move, or are to move, between the log directories of a broker.")
    ]


class BrokerCounts(Struct):
    """Numbers of brokers."""

    registered: int
    live: int
    offline: Annotated[list[int], Meta(description="The ids of the offline brokers.")]
    idle: Annotated[
        list[int],
        Meta(
            description="The offline brokers of a gateway that hold no replica and get none. Nothing waits "
            "for them; KRaft lists them until they are unregistered."
        ),
    ]
    excluded: Annotated[
        list[int],
        Meta(description="The brokers that get no new partitions (`reassignment.excluded.brokers`)."),
    ]
    hidden: Annotated[
        list[int],
        Meta(
            description="The brokers that clients of a gateway do not see, because their ports cannot be "
            "opened."
        ),
    ]
    placed_by: Annotated[str, Meta(description="Who places new partitions: `kafka` or `reassignd`.")]


class PartitionCounts(Struct):
    """Numbers of partitions."""

    total: int
    offline: int
    under_replicated: int
    under_min_isr: int


class ClusterHealth(Struct):
    """What is wrong with the cluster, and the state of the health guard."""

    problems: Annotated[
        list[str],
        Meta(
            description="Offline brokers, and offline, under-min-ISR and under-replicated partitions; "
            "empty when healthy."
        ),
    ]
    trouble: Annotated[
        str | None, Meta(description="What the health guard found; null when nothing, or without a guard.")
    ]
    holds: Annotated[
        int | None,
        Meta(
            description="Number of steps, other than repairs, that may be in flight: 0 (hold), 1 (slow), or "
            "null when the guard restricts nothing."
        ),
    ]
    unseen_since_ms: Annotated[
        int | None,
        Meta(
            description="Since when the Kafka cluster behind a gateway does not answer, in milliseconds "
            "since 1970; no"
            " step starts, and the numbers of brokers and partitions are of that time. Null while it answers."
        ),
    ]


class Incoming(Struct):
    """Progress of the data that is copied to a broker."""

    broker: int
    bytes: CopiedBytes
    total: TotalBytes
    rate: CopyBytesPerSecond
    seconds_left: SecondsLeft


class Throttle(Struct):
    """The replication throttle."""

    bytes_per_second: Annotated[
        int | None, Meta(description="The lowest rate of the cluster, the open jobs and the schedule.")
    ]
    source: Annotated[
        str | None,
        Meta(description="Whose rate that is: `the cluster`, `the schedule`, or for example `job 3`."),
    ]
    leases: Annotated[int, Meta(description="Number of throttle configs that reassignd has set.")]
    unlisted: Annotated[
        int,
        Meta(
            description="Number of replicas in flight that are not throttled, because the throttle list of "
            "their topic is full: a config of Kafka has 32,767 bytes."
        ),
    ]
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(
            description="Rates at brokers that reassignd has not set and does not change, the lowest first. "
            "They are in force at these brokers. Before a running Kafka they are read while something moves."
        ),
    ]


class Restore(Struct):
    """A job that is rolled back automatically."""

    job: int
    until_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    partitions: Annotated[int, Meta(description="Partitions of the job.")]


class Term(Struct):
    """The active instance, which answers, of several."""

    instance: Annotated[str, Meta(description="Its id: a new one at each start.")]
    url: Annotated[str, Meta(description="The URL of its HTTP API for other instances.")]
    term: Annotated[int, Meta(description="Increases with each change of the active instance.")]
    instances: Annotated[int, Meta(description="The active one and the standbys that were heard lately.")]


class Status(Struct):
    """The state of the server and the cluster."""

    version: str
    cluster_id: str
    cluster_name: Annotated[str, Meta(description="`cluster.name`; empty if it is not set.")]
    active: Annotated[Term | None, Meta(description="Null without a state topic.")]
    paused: bool
    brokers: BrokerCounts
    partitions: PartitionCounts
    health: ClusterHealth
    reassignments: Totals
    jobs: Annotated[list[Job], Meta(description="The jobs that have not ended, the oldest first.")]
    restores: Annotated[
        list[Restore],
        Meta(description="Jobs, ended or not, that are to be rolled back by themselves; the next one first."),
    ]
    incoming: Annotated[
        list[Incoming],
        Meta(description="Data of the jobs that have not ended, by the broker that receives it."),
    ]
    reasons: Annotated[
        list[Reason],
        Meta(
            description="Why partitions do not move or make no progress, of all of them, the most "
            "frequent first."
        ),
    ]
    other_reasons: OtherReasons
    limits: list[Limit]
    throttle: Throttle
    pace: PaceState
    schedule: Annotated[ScheduleState | None, Meta(description="Null without a schedule.")]
    cancel_mode: Annotated[
        Literal["rollback", "stop"],
        Meta(description="What a cancel does: `reassignment.cancel.mode`."),
    ]
    spark: Spark


JOBS = 20
"""Number of unfinished jobs that are shown, the oldest first, and of those to be rolled back."""

NAMED = 5
"""Number of brokers that are named for the same problem."""


async def status(call: Call) -> Status:
    """Return the state of the server and the cluster."""
    state = call.state
    counted = await tally(call)
    reasons = counted.all_reasons()
    open_jobs = [
        job
        for number in sorted(state.orders.open)[:JOBS]
        if (job := state.orders.jobs.get(number)) is not None
    ]
    rows = await job_rows(call, open_jobs, counted)
    brokers = _broker_counts(call)
    return Status(
        version=call.services.version,
        cluster_id=call.services.cluster_id(),
        cluster_name=call.services.cluster_name,
        active=_term(call),
        paused=state.orders.paused,
        brokers=brokers,
        partitions=_partition_counts(call),
        health=_health(state, brokers),
        reassignments=_totals(call),
        jobs=rows,
        restores=_restores(state),
        incoming=_incoming(call),
        reasons=reason_rows(reasons),
        other_reasons=other_reasons(reasons),
        limits=limit_rows(state),
        throttle=_throttle(state),
        pace=pace_state(state),
        schedule=None
        if state.settings.schedule is None
        else state_of(state.settings.schedule, state.settings.opening),
        cancel_mode="stop" if state.settings.cancel_stops else "rollback",
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


def _term(call: Call) -> Term | None:
    found = call.services.instances
    if found is None:
        return None
    own, *standbys = found.rows()
    return Term(own.id, own.url, found.term, 1 + len(standbys))


def _totals(call: Call) -> Totals:
    found = totals(call.state)
    # Stalled steps are those of the last measurement, and may have ended since.
    stalled = min(found.moving, len(call.services.progress.stalled))
    return Totals(**found._asdict(), stalled=stalled, directories=len(call.state.disks.open))


def _restores(state: State) -> list[Restore]:
    jobs = (job for job in state.orders.jobs.values() if job.until_ms)
    rows = (Restore(job.id, job.until_ms, job.total) for job in jobs)
    return nsmallest(JOBS, rows, key=lambda row: (row.until_ms, row.job))


def _broker_counts(call: Call) -> BrokerCounts:
    brokers, live = call.state.cluster.brokers, call.state.cluster.live
    excluded = sorted(call.state.settings.excluded_brokers)
    hidden = sorted(call.services.hidden_brokers())
    offline, missing = offline_brokers(call.state), missing_brokers(call.state)
    idle = [broker for broker in offline if broker not in missing]
    placed_by = "kafka" if call.state.mode.is_gateway else "reassignd"
    return BrokerCounts(len(brokers), len(live), offline, idle, excluded, hidden, placed_by)


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
        *([state.gateway.unreachable] if state.gateway.unreachable else []),
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
    unseen_since = state.gateway.unreachable_since_ms if state.gateway.unreachable else None
    return ClusterHealth(
        problems(state, brokers),
        state.gateway.health_problem or None,
        state.backlog.usage.held,
        unseen_since,
    )


def _throttle(state: State) -> Throttle:
    unlisted = sum(state.throttle.unlisted.values())
    source = throttle_source(state) or None
    others = by_rate(rates_of_others(state))
    return Throttle(throttle_rate(state), source, throttle_leases(state), unlisted, others)


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
