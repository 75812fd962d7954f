"""Rows that several resources of the API have in common."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from common.error_codes import ErrorCode
from common.large_lists import drained
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.job_events import TopicOutcomes
from controller.model import cluster
from controller.model.cluster import JobKind, ResourceType
from controller.state.state import State
from controller.views import jobs as views
from controller.views.jobs import PartState
from server.api.call import Call
from server.api.models.jobs import Copied, Job, JobKindName
from server.api.models.limits import Limit
from server.api.models.shared import Reason, Refused
from server.api.services.counts import Tally
from server.api.services.progress import CopyRate

LISTED_REASONS = 100
"""Reasons that an answer lists. There are more only if reasons name partitions or replicas."""

KINDS: Mapping[JobKind, JobKindName] = {
    JobKind.PLAN: "plan",
    JobKind.ROLLBACK: "rollback",
    JobKind.QUEUE: "queue",
}


async def tally(call: Call) -> Tally:
    """Return the numbers of partitions of all open jobs by state and by reason."""
    return await call.services.counts.tally(call.services.progress.stalled)


async def job_rows(call: Call, jobs: Iterable[cluster.Job]) -> list[Job]:
    """Return the jobs as the API shows them."""
    counts = await tally(call)
    rollbacks: dict[int, list[cluster.Job]] = {}
    for job in call.state.jobs.values():
        rollbacks.setdefault(job.undoes, []).append(job)
    rows = []
    for job in jobs:
        row = _job_row(call, job, counts, await call.services.counts.endings(job))
        if job.id in rollbacks:
            row.rolled_back_by = rollbacks[job.id][-1].id
            if row.done and await _undone(call, job, rollbacks) >= row.done:
                row.outcome = PartState.ROLLED_BACK.value
        rows.append(row)
    return rows


async def _undone(call: Call, job: cluster.Job, rollbacks: Mapping[int, Sequence[cluster.Job]]) -> int:
    """Return how many partitions rollbacks of the job have taken back, without those that were rolled back themselves."""
    undone = 0
    for rollback in rollbacks.get(job.id, ()):
        endings = await call.services.counts.endings(rollback)
        done = endings.get(PartState.DONE.value, 0)
        undone += done - min(done, await _undone(call, rollback, rollbacks)) if rollback.ended_ms else 0
    return undone


def _job_row(call: Call, job: cluster.Job, counts: Tally, endings: dict[str, int]) -> Job:
    left = call.state.open.get(job.id, 0)
    moving = min(left, counts.moving[job.id])
    waiting = min(left - moving, counts.waiting[job.id])
    runs = views.job_state(job) is views.JobState.RUNNING
    return Job(
        id=job.id,
        kind=KINDS[job.kind],
        state=views.job_state(job),
        held=(views.held_reason(call.state) or None) if runs and not moving else None,
        created_ms=job.created_ms,
        ended_ms=job.ended_ms or None,
        principal=job.principal,
        client_id=job.client_id,
        total=job.total or left + sum(endings.values()),
        done=endings.get(PartState.DONE.value, 0),
        moving=moving,
        waiting=waiting,
        queued=left - moving - waiting,
        priority=job.priority,
        throttle=job.throttle or None,
        undoes=job.undoes or None,
        rolled_back_by=None,
        outcome=_outcome(endings) if job.ended_ms else None,
        endings=endings,
        copied=None if job.ended_ms else _copied(call.services.progress.of_job(job.id)),
    )


def _outcome(endings: Mapping[str, int]) -> str:
    """Return the ending of all partitions, or that only a part of them is done."""
    if len(endings) == 1:
        return next(iter(endings))
    return "partly done" if PartState.DONE.value in endings else "not done"


def _copied(rate: CopyRate | None) -> Copied | None:
    return None if rate is None else Copied(*rate)


def limit_rows(state: State) -> list[Limit]:
    """Return the limits of KIP-435."""
    return [
        Limit(each.letter, each.config, each.limit, each.used, origin(state, each.config))
        for each in views.limit_views(state)
    ]


def origin(state: State, config: str) -> Literal["settings", "dynamic"] | None:
    """Return where the value of a cluster-wide config comes from; None if it has none."""
    if state.dynamic_config(ResourceType.BROKER, CLUSTER_DEFAULT, config) is not None:
        return "dynamic"
    return "settings" if config in state.static_configs else None


def reason_rows(reasons: Counter[str]) -> list[Reason]:
    """Return the reasons with their numbers of partitions, the most frequent reason first."""
    return [Reason(reason, count) for reason, count in reasons.most_common(LISTED_REASONS)]


def other_reasons(reasons: Counter[str]) -> int:
    """Return the number of partitions whose reason `reason_rows` leaves out."""
    return sum(count for _, count in reasons.most_common()[LISTED_REASONS:])


def count_accepted(topics: Sequence[TopicOutcomes]) -> int:
    """Return the number of partitions that the controller accepted."""
    return sum(outcome.ok for _, rows in topics for _, outcome in rows)


def refused_rows(
    topics: Sequence[TopicOutcomes], harmless: ErrorCode = ErrorCode.NONE
) -> Iterator[Refused | None]:
    """Yield the partitions that the controller refused, and None for the others. Empties the lists that it reads.

    Those refused with the `harmless` error count as others.
    """
    for topic, rows in drained(topics):
        for partition, (error, message) in drained(rows):
            refused = error and error is not harmless
            yield Refused(topic, partition, error.name, message or error.name) if refused else None
