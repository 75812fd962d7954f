"""Rows of the API: what several resources show in the same way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from controller.messages.job_events import TopicOutcomes
from controller.model.cluster import Ending, Job, TopicPartition
from controller.state.state import State
from controller.views.jobs import (
    Part,
    PartState,
    job_state,
    jobs_in_flight,
    limit_views,
    waiting_jobs,
    waiting_reason,
    why_pending,
)
from server.api.call import Call
from server.api.progress import CopyRate

SAMPLE = 500
"""Partitions whose reasons are counted; more would keep others waiting."""

Tally = tuple[Counter[int], Counter[int]]
"""How many partitions of each job move, and how many wait."""


async def tally(call: Call) -> Tally:
    """Count once, for as many jobs as are shown."""
    moving = Counter(await call.taken(jobs_in_flight(call.state)))
    return moving, Counter(await call.taken(waiting_jobs(call.state)))


def job_row(call: Call, job: Job, counted: Tally) -> dict[str, Any]:
    """The schema's `Job`. `done` counts every partition whose part in the job has ended."""
    state = call.state
    left = state.open.get(job.id, 0)
    moving, waiting = (min(left, each[job.id]) for each in counted)
    return {
        "id": job.id,
        "kind": job.kind.name.lower(),
        "state": job_state(job).value,
        "created_ms": job.created_ms,
        "ended_ms": job.ended_ms or None,
        "principal": job.principal,
        "client_id": job.client_id,
        "total": job.total or left,
        "done": max(0, (job.total or left) - left),
        "moving": moving,
        "waiting": waiting,
        "queued": max(0, left - moving - waiting),
        "priority": job.priority,
        "throttle": job.throttle or None,
        "undoes": job.undoes or None,
        "endings": _endings(state, job) if job.ended_ms else {},
        "copied": None if job.ended_ms else pace_row(call.core.progress.of_job(job.id)),
    }


def _endings(state: State, job: Job) -> dict[str, int]:
    """The most frequent first; of a rollback, partitions that went back are done."""
    counted = Counter[str]()
    for ending, times in state.endings.get(job.id, {}).items():
        back = job.undoes and ending is Ending.ROLLED_BACK
        counted[(PartState.DONE if back else PartState[ending.name]).value] += times
    return dict(counted.most_common())


def pace_row(pace: CopyRate | None) -> dict[str, Any] | None:
    """The schema's `Copied`; None when nothing is known."""
    if pace is None:
        return None
    moved, total, rate = pace
    return {"bytes": moved, "total": total, "rate": rate, "seconds_left": pace.seconds_left}


def part_row(call: Call, part: Part) -> dict[str, Any]:
    """The schema's `Part`."""
    reason = part.reason
    if part.state is PartState.MOVING:
        reason = call.core.progress.standstill.get(TopicPartition(part.topic, part.partition), "")
    return {**part._asdict(), "state": part.state.value, "reason": reason}


def limit_rows(state: State) -> list[dict[str, Any]]:
    """The schema's `Limit`, one for each."""
    return [
        {"name": each.letter, "config": each.config, "limit": each.limit, "used": each.used}
        for each in limit_views(state)
    ]


def reasons(texts: Sequence[str]) -> list[dict[str, Any]]:
    """The schema's `Reasons`, the most frequent one first."""
    return [{"reason": reason, "partitions": times} for reason, times in Counter(texts).most_common()]


def resting(call: Call, job: int | None = None) -> Iterator[str | None]:
    """Why partitions do not move, or come no nearer, one text each, of one job or of all; None for those that do."""
    state, still = call.state, call.core.progress.standstill
    for wanted in list(state.reassignments.values()):
        partition = state.partition(wanted.topic, wanted.partition)
        ours = wanted.key in state.reassignments and (job is None or wanted.job == job)
        if partition is None or not ours:
            yield None
        elif state.in_step(partition):
            yield still.get(wanted.key)
        else:
            yield waiting_reason(state, wanted, partition)
    for pending in islice(list(state.pending.values()), SAMPLE):
        yield why_pending(state, pending) if job is None or pending.job == job else None


def refused_rows(topics: Sequence[TopicOutcomes]) -> Iterator[dict[str, Any]]:
    """The rows that the controller refused."""
    for topic, rows in topics:
        for partition, (error, message) in rows:
            if error:
                yield {
                    "topic": topic,
                    "partition": partition,
                    "error": error.name,
                    "message": message or error.name,
                }
