"""Jobs as the API shows them, with the numbers of their partitions and the bytes that they have copied."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from controller.model import cluster
from controller.state.state import State
from controller.views import jobs as views
from controller.views.jobs import JobState, PartState
from server.api.shared.call import Call
from server.api.shared.errors import HttpError
from server.api.shared.models import CopiedBytes, CopyBytesPerSecond, Reason, SecondsLeft, TotalBytes
from server.events.models import KINDS, JobKindName
from server.progress.counts import Tally
from server.progress.progress import CopyRate

LISTED_REASONS = 100
"""Reasons that an answer lists. There are more only if reasons name partitions or replicas."""


Endings: TypeAlias = Annotated[
    dict[str, int],
    Meta(description="Number of partitions by the way their part in the job ended, until now."),
]


class Copied(Struct):
    """Progress of a job in bytes."""

    bytes: CopiedBytes
    total: TotalBytes
    rate: CopyBytesPerSecond
    seconds_left: SecondsLeft


class JobLimit(Struct):
    """A limit of a job's own (KIP-435). Those of the cluster apply to its steps too."""

    name: Annotated[str, Meta(description="R, P, L, C or B, as of the cluster's limits.")]
    limit: int
    used: Annotated[
        int | None,
        Meta(description="What steps in flight of the job use of it; null for R, which nothing uses up."),
    ]


class Job(Struct):
    """A job. The numbers count partitions."""

    id: int
    kind: JobKindName
    state: JobState
    held: Annotated[
        str | None,
        Meta(
            description="Why nothing of a running job moves, if that holds for every job: a pause, the "
            "schedule, or the health guard."
        ),
    ]
    created_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    ended_ms: int | None
    principal: str
    client_id: str | None
    total: int
    done: Annotated[int, Meta(description="Partitions that have arrived at the target.")]
    moving: int
    stalled: Annotated[
        int,
        Meta(
            description="Those of `moving` whose step makes no progress, for instance because its target is"
            " down."
        ),
    ]
    waiting: int
    queued: Annotated[
        int,
        Meta(
            description="`moving`, `waiting` and `queued` are the partitions whose part in the job has "
            "not ended."
        ),
    ]
    priority: int
    throttle: Annotated[int | None, Meta(description="Bytes per second.")]
    limits: Annotated[list[JobLimit], Meta(description="Its own limits; empty if it has none.")]
    elects: Annotated[bool, Meta(description="Whether the preferred leaders of its partitions are elected.")]
    until_ms: Annotated[
        int | None,
        Meta(description="When it is rolled back automatically, in milliseconds since 1970; null for never."),
    ]
    undoes: Annotated[int | None, Meta(description="The job that this rollback undoes.")]
    rolled_back_by: Annotated[int | None, Meta(description="The newest rollback of this job.")]
    outcome: Annotated[
        str | None,
        Meta(
            description="The ending of all partitions, or `partly done`, or `not done`; null until the job "
            "ends. `rolled back` too if rollbacks have taken back all that was done."
        ),
    ]
    endings: Endings
    copied: Annotated[
        Copied | None,
        Meta(description="Null when the job has ended, has nothing to copy, or was not measured yet."),
    ]


def job_of(call: Call) -> cluster.Job:
    """Return the job that the path names. Raises HttpError."""
    number = call.number("job")
    found = call.state.orders.jobs.get(number)
    if found is None:
        raise HttpError(404, f"There is no job {number}; `reassignd jobs` lists them.")
    return found


async def tally(call: Call) -> Tally:
    """Return the numbers of partitions of all open jobs by state and by reason."""
    return await call.services.counts.tally(call.services.progress.stalled)


async def job_rows(call: Call, jobs: Iterable[cluster.Job], counts: Tally) -> list[Job]:
    """Return the jobs as the API shows them."""
    rollbacks: dict[int, list[cluster.Job]] = {}
    for job in call.state.orders.jobs.values():
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
    """Return how many partitions rollbacks of the job have taken back.

    Those do not count whose rollback was rolled back itself.
    """
    undone = 0
    for rollback in rollbacks.get(job.id, ()):
        endings = await call.services.counts.endings(rollback)
        done = endings.get(PartState.DONE.value, 0)
        undone += done - min(done, await _undone(call, rollback, rollbacks)) if rollback.ended_ms else 0
    return undone


def _job_row(call: Call, job: cluster.Job, counts: Tally, endings: dict[str, int]) -> Job:
    left = call.state.orders.open.get(job.id, 0)
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
        stalled=min(moving, counts.stalled[job.id]),
        waiting=waiting,
        queued=left - moving - waiting,
        priority=job.priority,
        throttle=job.throttle or None,
        limits=job_limits(call.state, job),
        elects=job.elects,
        until_ms=job.until_ms or None,
        undoes=job.undoes or None,
        rolled_back_by=None,
        outcome=_outcome(endings) if job.ended_ms else None,
        endings=endings,
        copied=None if job.ended_ms else _copied(call.services.progress.of_job(job.id)),
    )


def job_limits(state: State, job: cluster.Job) -> list[JobLimit]:
    """Return the limits of the job's own."""
    return [JobLimit(*row) for row in views.job_limits(state, job)]


def _outcome(endings: Mapping[str, int]) -> str:
    """Return the ending of all partitions, or that only a part of them is done."""
    if len(endings) == 1:
        return next(iter(endings))
    return "partly done" if PartState.DONE.value in endings else "not done"


def _copied(rate: CopyRate | None) -> Copied | None:
    return None if rate is None else Copied(*rate)


def reason_rows(reasons: Counter[str]) -> list[Reason]:
    """Return the reasons with their numbers of partitions, the most frequent reason first."""
    return [Reason(reason, count) for reason, count in reasons.most_common(LISTED_REASONS)]


def other_reasons(reasons: Counter[str]) -> int:
    """Return the number of partitions whose reason `reason_rows` leaves out."""
    return sum(count for _, count in reasons.most_common()[LISTED_REASONS:])
