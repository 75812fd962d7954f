"""Rows that several resources of the API have in common."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from controller.messages.job_events import TopicOutcomes
from controller.model import cluster
from controller.model.cluster import Ending, JobKind, TopicPartition
from controller.state.state import State
from controller.views import jobs as views
from controller.views.jobs import PartState
from server.api.call import Call
from server.api.models import Copied, Job, JobKindName, Limit, Part, Reason, Refused
from server.api.progress import CopyRate

SAMPLE = 500
"""Partitions whose reasons are counted. A larger sample would delay other requests."""

KINDS: Mapping[JobKind, JobKindName] = {
    JobKind.PLAN: "plan",
    JobKind.ROLLBACK: "rollback",
    JobKind.QUEUE: "queue",
}

PartitionCounts = tuple[Counter[int], Counter[int]]
"""Numbers of moving and of waiting partitions, by job."""


async def count_by_job(call: Call) -> PartitionCounts:
    """Count the moving and the waiting partitions of all jobs, once for all jobs that are shown."""
    moving = Counter(await call.collect(views.jobs_in_flight(call.state)))
    return moving, Counter(await call.collect(views.waiting_jobs(call.state)))


def job_row(call: Call, job: cluster.Job, counts: PartitionCounts) -> Job:
    """Return the job as the API shows it."""
    state = call.state
    left = state.open.get(job.id, 0)
    moving, waiting = (min(left, count[job.id]) for count in counts)
    return Job(
        id=job.id,
        kind=KINDS[job.kind],
        state=views.job_state(job),
        created_ms=job.created_ms,
        ended_ms=job.ended_ms or None,
        principal=job.principal,
        client_id=job.client_id,
        total=job.total or left,
        done=max(0, (job.total or left) - left),
        moving=moving,
        waiting=waiting,
        queued=max(0, left - moving - waiting),
        priority=job.priority,
        throttle=job.throttle or None,
        undoes=job.undoes or None,
        endings=_endings(state, job) if job.ended_ms else {},
        copied=None if job.ended_ms else _copied(call.core.progress.of_job(job.id)),
    )


def _endings(state: State, job: cluster.Job) -> dict[str, int]:
    """Return the most frequent ending first. Of a rollback, partitions that were rolled back count as done."""
    counted = Counter[str]()
    for ending, count in state.endings.get(job.id, {}).items():
        undone = job.undoes and ending is Ending.ROLLED_BACK
        counted[(PartState.DONE if undone else PartState[ending.name]).value] += count
    return dict(counted.most_common())


def _copied(rate: CopyRate | None) -> Copied | None:
    return None if rate is None else Copied(rate.moved, rate.total, rate.rate, rate.seconds_left)


def part_row(call: Call, part: views.Part) -> Part:
    """Return one partition of a job as the API shows it."""
    topic, partition, state, replicas, target, original, step, reason = part
    if state is PartState.MOVING:
        reason = call.core.progress.stalled.get(TopicPartition(topic, partition), "")
    return Part(topic, partition, state, replicas, target, original, step, reason)


def limit_rows(state: State) -> list[Limit]:
    """Return the limits of KIP-435."""
    return [Limit(each.letter, each.config, each.limit, each.used) for each in views.limit_views(state)]


def count_reasons(reasons: Sequence[str]) -> list[Reason]:
    """Return the reasons with their numbers of partitions, the most frequent reason first."""
    return [Reason(reason, count) for reason, count in Counter(reasons).most_common()]


def idle_reasons(call: Call, job: int | None = None) -> Iterator[str | None]:
    """Yield why each partition of the job, or of all jobs, does not move or makes no progress; None if it does."""
    state, stalled = call.state, call.core.progress.stalled
    for wanted in list(state.reassignments.values()):
        partition = state.partition(wanted.topic, wanted.partition)
        # The reassignment may have ended since the list was made.
        selected = wanted.key in state.reassignments and (job is None or wanted.job == job)
        if partition is None or not selected:
            yield None
        elif partition.key in state.in_flight:
            yield stalled.get(wanted.key)
        else:
            yield views.waiting_reason(state, wanted, partition)
    for pending in islice(list(state.pending.values()), SAMPLE):
        yield views.why_pending(state, pending) if job is None or pending.job == job else None


def refused_rows(topics: Sequence[TopicOutcomes]) -> Iterator[Refused]:
    """Yield the partitions that the controller refused."""
    for topic, rows in topics:
        for partition, (error, message) in rows:
            if error:
                yield Refused(topic, partition, error.name, message or error.name)
