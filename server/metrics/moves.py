"""Metrics of the cluster and its reassignments.

They cover brokers, partitions, jobs, bytes, limits, the throttle and pace.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from controller.execution.throttle import throttle_leases, throttle_rate
from controller.model.jobs import Job
from controller.model.replicas import TopicPartition
from controller.pace.pacer import BrokerPace
from controller.state.state import State
from controller.views.jobs import broker_loads, limit_views, totals
from controller.views.reason_kinds import REASON_KINDS
from server.metrics.metric import Metric, Samples, gauge, one_label, optional_gauge
from server.metrics.sources import Scrape
from server.progress.progress import CopyRate

MOST_JOBS = 100
"""Open jobs with metrics of their own, the oldest first. More would be series that nobody reads."""


def _blocked(state: State, key: TopicPartition) -> bool:
    reassignment = state.orders.reassignments.get(key)
    return reassignment is not None and bool(reassignment.blocked)


def _jobs(scrape: Scrape) -> Iterator[Job]:
    jobs = scrape.state.orders.jobs
    return (
        jobs[number] for number in islice(sorted(scrape.state.orders.open.keys() & jobs.keys()), MOST_JOBS)
    )


def _of_jobs(read: Callable[[Scrape, Job], float]) -> Callable[[Scrape], Samples]:
    return lambda scrape: [((str(job.id),), read(scrape, job)) for job in _jobs(scrape)]


def _of_copies(read: Callable[[CopyRate], float | None]) -> Callable[[Scrape], Samples]:
    """Return a function for a number of the jobs whose progress is known; None is left out."""

    def samples(scrape: Scrape) -> Samples:
        progress = scrape.sources.progress
        for job in _jobs(scrape):
            copied = None if progress is None else progress.of_job(job.id)
            value = None if copied is None else read(copied)
            if value is not None:
                yield (str(job.id),), value

    return samples


def _left(scrape: Scrape) -> Samples:
    progress = scrape.sources.progress
    return [] if progress is None else one_label(progress.left_by_broker())


def _received(scrape: Scrape) -> Samples:
    progress = scrape.sources.progress
    return [] if progress is None else one_label(progress.throughput.totals.received)


def _sent(scrape: Scrape) -> Samples:
    progress = scrape.sources.progress
    return [] if progress is None else one_label(progress.throughput.totals.sent)


def _loads(scrape: Scrape) -> Samples:
    for load in broker_loads(scrape.state):
        yield (str(load.broker), "in"), load.incoming
        yield (str(load.broker), "out"), load.outgoing


def _limits(scrape: Scrape) -> Samples:
    return [((view.name,), view.limit) for view in limit_views(scrape.state) if view.limit is not None]


def _limits_used(scrape: Scrape) -> Samples:
    return [((view.name,), view.used) for view in limit_views(scrape.state) if view.used is not None]


def _directory_moves(scrape: Scrape) -> Samples:
    disks = scrape.state.disks
    moving = sum(map(len, disks.flying.values()))
    return one_label({"moving": moving, "waiting": len(disks.open) - moving})


def _by_reason(scrape: Scrape) -> Samples:
    waits = scrape.sources.waits
    return [] if waits is None else one_label({kind: waits.counts[kind] for kind in REASON_KINDS})


def _oldest(scrape: Scrape) -> Samples:
    waits = scrape.sources.waits
    return [] if waits is None else one_label(waits.oldest())


PARTITION_METRICS = (
    gauge(
        "reassignd_moving_partitions", lambda r: totals(r.state).moving, "Partitions with a step in flight."
    ),
    gauge(
        "reassignd_queued_partitions",
        lambda r: totals(r.state).queued,
        "Partitions that cannot start their next step because of a limit, an earlier job or a pause.",
    ),
    gauge(
        "reassignd_waiting_partitions",
        lambda r: totals(r.state).waiting,
        "Partitions that cannot start their next step because of an offline broker, a missing leader or the"
        " schedule.",
    ),
    gauge(
        "reassignd_blocked_partitions",
        lambda r: sum(1 for key in r.state.orders.waiting if _blocked(r.state, key)),
        "Partitions that someone else moved or cancelled in the upstream; an operator must decide.",
    ),
    gauge(
        "reassignd_foreign_reassignments",
        lambda r: len(r.state.gateway.external),
        "Partitions that the upstream reassigns and that reassignd did not submit.",
    ),
    gauge(
        "reassignd_stalled_partitions",
        lambda r: 0 if r.sources.progress is None else len(r.sources.progress.stalled),
        "Partitions with a step in flight that has made no progress for a minute.",
    ),
    Metric(
        "reassignd_directory_moves",
        "gauge",
        ("state",),
        _directory_moves,
        "Replicas that are `moving` between log directories of their brokers, or are `waiting` to do so.",
    ),
    Metric(
        "reassignd_partitions_by_reason",
        "gauge",
        ("reason",),
        _by_reason,
        "Partitions that do not move or make no progress, by kind of reason; a few seconds old.",
    ),
    Metric(
        "reassignd_oldest_wait_seconds",
        "gauge",
        ("reason",),
        _oldest,
        "Time for which the oldest partition has waited, by kind of reason; 0 if none waits. For `limit`,"
        " `turn`, `paused`, `schedule`, `health_guard`, `stalled` and `earlier_move`: time for which a job"
        " has had such partitions.",
    ),
    Metric(
        "reassignd_planned_steps",
        "counter",
        ("outcome",),
        lambda r: one_label(r.state.backlog.planned.counts._asdict()),
        "Steps of partitions planned on Spark that have begun: the `same` as the server's own rule gives,"
        " one that `differs`, or one after that, which the server `replanned`.",
    ),
    gauge(
        "reassignd_adding_replicas",
        lambda r: r.counts.reassigned_replicas,
        "Replicas that are being added (ReassignedCount of KIP-352).",
    ),
)

JOB_METRICS = (
    gauge("reassignd_open_jobs", lambda r: len(r.state.orders.open), "Jobs that have not ended."),
    gauge(
        "reassignd_paused",
        lambda r: int(r.state.orders.paused),
        "1 while all reassignments are paused.",
    ),
    Metric(
        "reassignd_job_paused",
        "gauge",
        ("job_id",),
        _of_jobs(lambda _, job: int(job.paused)),
        "1 while the job itself is paused. As all metrics with the label `job_id`: of the first 100 open"
        " jobs.",
    ),
    Metric(
        "reassignd_job_open_partitions",
        "gauge",
        ("job_id",),
        _of_jobs(lambda r, job: r.state.orders.open[job.id]),
        "Partitions of the job that have not ended.",
    ),
    Metric(
        "reassignd_job_partitions",
        "gauge",
        ("job_id",),
        _of_jobs(lambda r, job: max(job.total, r.state.orders.open[job.id])),
        "Partitions of the job, ended ones included.",
    ),
    Metric(
        "reassignd_job_created_timestamp_seconds",
        "gauge",
        ("job_id",),
        _of_jobs(lambda _, job: job.created_ms / 1000),
        "Unix time at which the job was accepted.",
    ),
    Metric(
        "reassignd_job_left_bytes",
        "gauge",
        ("job_id",),
        _of_copies(lambda copied: copied.total - copied.moved),
        "Bytes that the job has to copy until its end.",
    ),
    Metric(
        "reassignd_job_copied_bytes",
        "gauge",
        ("job_id",),
        _of_copies(lambda copied: copied.moved),
        "Bytes that the job has copied.",
    ),
    Metric(
        "reassignd_job_bytes_per_second",
        "gauge",
        ("job_id",),
        _of_copies(lambda copied: copied.rate),
        "Present rate of the job. Absent while nothing is copied, and until it is measured.",
    ),
    Metric(
        "reassignd_job_remaining_seconds",
        "gauge",
        ("job_id",),
        _of_copies(lambda copied: copied.seconds_left),
        "Time that the rest of the job takes. Absent while it cannot be said, for instance during a pause.",
    ),
)

BROKER_METRICS = (
    Metric(
        "reassignd_broker_left_bytes",
        "gauge",
        ("broker",),
        _left,
        "Bytes that open jobs have to copy to the broker.",
    ),
    Metric(
        "reassignd_broker_received_bytes",
        "counter",
        ("broker",),
        _received,
        "Bytes that the broker has received for jobs since reassignd started; measured every few seconds.",
    ),
    Metric(
        "reassignd_broker_sent_bytes",
        "counter",
        ("broker",),
        _sent,
        "Bytes that the broker, as the leader, has sent for jobs since reassignd started.",
    ),
    Metric(
        "reassignd_broker_replicas_in_flight",
        "gauge",
        ("broker", "direction"),
        _loads,
        "Replicas that steps in flight copy to (in) and from (out) the broker, as limit B counts them.",
    ),
)

LIMIT_METRICS = (
    Metric(
        "reassignd_limit",
        "gauge",
        ("limit",),
        _limits,
        "Value of the limit R, P, L, C, B or bytes. Limits that are not set are absent.",
    ),
    Metric(
        "reassignd_limit_used",
        "gauge",
        ("limit",),
        _limits_used,
        "Use of the limit P, L, C, B or bytes by the steps in flight; for B that of the busiest broker.",
    ),
    optional_gauge(
        "reassignd_throttle_bytes_per_second",
        lambda r: throttle_rate(r.state),
        "The throttle in force: the lowest of the configured one, of open jobs and of the schedule. Absent"
        " without one.",
    ),
    gauge(
        "reassignd_throttle_leases",
        lambda r: throttle_leases(r.state),
        "Throttle configs of brokers and topics that reassignd has set and will remove.",
    ),
    gauge(
        "reassignd_outside_of_schedule",
        lambda r: int(not r.state.settings.opening.is_open),
        "1 while the schedule lets no step start.",
    ),
    gauge(
        "reassignd_health_guard_holds",
        lambda r: int(r.state.backlog.usage.held is not None),
        "1 while the health guard starts no new steps, or one at a time.",
    ),
)

MOVE_METRICS = (*PARTITION_METRICS, *JOB_METRICS, *BROKER_METRICS, *LIMIT_METRICS)


def _by_broker(read: Callable[[BrokerPace], float | None]) -> Callable[[Scrape], Samples]:
    def samples(scrape: Scrape) -> Samples:
        state = scrape.state
        for row in state.pace.pacer.brokers.values() if state.pace.settings is not None else ():
            value = read(row)
            if value is not None:
                yield (str(row.broker),), value

    return samples


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


PACE_METRICS = (
    gauge(
        "reassignd_pace_on",
        lambda r: r.state.pace.settings is not None,
        "Whether `reassignment.pace` is `auto`.",
    ),
    gauge(
        "reassignd_pace_comparing",
        lambda r: r.state.pace.pacer.comparing,
        "Whether little moves at present, to measure the latency without the move.",
    ),
    gauge(
        "reassignd_pace_problem",
        lambda r: bool(r.state.pace.pacer.problem),
        "Whether the target of pace cannot be kept, or the canary is not used; `reassignd status` shows why.",
    ),
    Metric(
        "reassignd_pace_latency_seconds",
        "gauge",
        ("broker",),
        _by_broker(lambda row: _seconds(row.latency)),
        "Latency that the canary has measured in the last seconds; three of four produces were faster.",
    ),
    Metric(
        "reassignd_pace_target_seconds",
        "gauge",
        ("broker",),
        _by_broker(lambda row: _seconds(row.target)),
        "Latency up to which pace lets more move.",
    ),
    Metric(
        "reassignd_pace_effort",
        "gauge",
        ("broker",),
        _by_broker(lambda row: row.effort),
        "Replicas that may move to the broker, and from it, at once; below 1 one in turns, or throttled.",
    ),
    Metric(
        "reassignd_pace_throttle_bytes_per_second",
        "gauge",
        ("broker",),
        _by_broker(lambda row: row.rate),
        "Throttle that pace has set; absent without one.",
    ),
)


def _brokers(scrape: Scrape) -> Samples:
    online = len(scrape.state.cluster.live)
    return one_label({"online": online, "offline": len(scrape.state.cluster.brokers) - online})


def _moving_partitions(scrape: Scrape) -> Samples:
    """Whether each moving partition is under-replicated, for the first ones up to the configured number."""
    state = scrape.state
    keys = islice(state.in_flight, scrape.sources.moving_partitions)
    return [((key.topic, str(key.partition)), int(key in state.cluster.under_replicated)) for key in keys]


CLUSTER_METRICS = (
    Metric(
        "reassignd_brokers",
        "gauge",
        ("state",),
        _brokers,
        "Brokers that are registered, by state: `online` or `offline`.",
    ),
    gauge("reassignd_partitions", lambda r: r.counts.partitions, "Partitions of all topics."),
    gauge("reassignd_offline_partitions", lambda r: r.counts.offline, "Partitions without a leader."),
    gauge(
        "reassignd_under_replicated_partitions",
        lambda r: r.counts.under_replicated,
        "Partitions with a replica that is not in the ISR, adding replicas not counted (KIP-352).",
    ),
    gauge(
        "reassignd_under_min_isr_partitions",
        lambda r: r.counts.under_min_isr,
        "Partitions with fewer in-sync replicas than min.insync.replicas.",
    ),
    Metric(
        "reassignd_moving_partition_under_replicated",
        "gauge",
        ("topic", "partition"),
        _moving_partitions,
        "1 if a moving partition is under-replicated, adding replicas not counted (KIP-352). Only with "
        "`metrics.moving.partitions`.",
    ),
)
