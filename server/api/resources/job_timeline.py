"""`/v1/jobs/{job}/timeline`: the life of a job: what was ordered, what happened, and how fast it copied."""

from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import chain
from typing import Annotated

from msgspec import Meta, Struct

from common.clock import wall_clock
from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError
from controller.model.jobs import Job
from server.api.resources.audit import AuditRow, audit_row
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.job_rows import job_of
from server.progress import job_history

MOST_ENTRIES = 200
"""Entries of the audit log that are listed: the newest."""
MOST_ROLLBACKS = 20
"""Rollbacks of the job whose entries are looked for: the newest."""
OF_ALL = frozenset({AuditAction.PAUSE, AuditAction.RESUME, AuditAction.LIMITS, AuditAction.CANCEL})
"""What changes the course of every job."""


class BrokerChange(Struct):
    """A broker that stopped or started."""

    time_ms: int
    broker: int
    live: bool


class Hold(Struct):
    """What kept all jobs from starting steps, from this time on."""

    time_ms: int
    reason: Annotated[str, Meta(description="Empty when steps could start again.")]


class JobSamples(Struct):
    """How the job went on: lists of equal length, the oldest sample first."""

    times: Annotated[list[int], Meta(description="The end of each sample, in milliseconds since 1970.")]
    rates: Annotated[list[int], Meta(description="Bytes per second.")]
    ended: Annotated[list[int], Meta(description="Partitions that had ended.")]
    throttles: Annotated[list[int | None], Meta(description="The throttle at these times; null for none.")]


class Timeline(Struct):
    """The life of a job. Times are milliseconds since 1970."""

    job: int
    from_ms: int
    until_ms: Annotated[int, Meta(description="The end of the job, or now.")]
    total: Annotated[int, Meta(description="Partitions of the job.")]
    since_ms: Annotated[
        int | None,
        Meta(
            description="Samples, brokers and holds are known from then on: the start of this server, or its"
            " take-over. Null: not yet."
        ),
    ]
    samples: JobSamples
    brokers: list[BrokerChange]
    holds: Annotated[list[Hold], Meta(description="The first one may be older than the job.")]
    entries: Annotated[
        list[AuditRow] | None,
        Meta(
            description="What was ordered for this job and for all jobs, the oldest first: the newest 200 of "
            "each. Null without an audit log."
        ),
    ]
    incomplete: Annotated[str, Meta(description="What is missing, in one line; empty if nothing is.")]


async def timeline(call: Call) -> Timeline:
    """Return what is stored, and what was remembered since the start of the server."""
    job = job_of(call)
    history, until = call.services.progress.history, job.ended_ms or max(wall_clock(), job.created_ms)
    samples = history.samples(job.id)
    entries, is_cut = await _entries(call, job, until)
    return Timeline(
        job=job.id,
        from_ms=job.created_ms,
        until_ms=until,
        total=job.total,
        since_ms=history.since_ms,
        samples=JobSamples(
            [each.time_ms for each in samples],
            [round(each.copied / each.seconds) for each in samples],
            [each.ended for each in samples],
            [each.throttle for each in samples],
        ),
        brokers=[BrokerChange(*each) for each in history.brokers if job.created_ms <= each.time_ms <= until],
        holds=_holds(history.holds, job.created_ms, until),
        entries=entries,
        incomplete=_incomplete(job, history.since_ms, entries, is_cut=is_cut),
    )


async def _entries(call: Call, job: Job, until: int) -> tuple[list[AuditRow] | None, bool]:
    """Return the entries about the job, its rollbacks and all jobs, and whether older ones may be missing.

    Without a log, the entries are None. Raises HttpError.
    """
    log = call.services.audit
    if log is None:
        return None, False
    rollbacks = nlargest(
        MOST_ROLLBACKS, (each.id for each in call.state.orders.jobs.values() if each.undoes == job.id)
    )
    asked = [
        AuditFilter(job=job.id),
        AuditFilter(OF_ALL, since_ms=job.created_ms, until_ms=until + 1),
        *(AuditFilter({AuditAction.ROLLBACK}, job=each) for each in rollbacks),
    ]

    def read() -> list[list[AuditEntry]]:
        return [log.newest(each, MOST_ENTRIES) for each in asked]

    try:
        found = await call.off_loop.run(read)
    except AuditLogError as error:
        raise HttpError(503, str(error)) from error
    about = {
        entry.id: entry
        for entry in chain.from_iterable(found)
        if entry.job in (0, job.id) or (entry.action is AuditAction.ROLLBACK and entry.job in rollbacks)
    }
    is_cut = any(len(each) == MOST_ENTRIES for each in found)
    return [audit_row(about[number]) for number in sorted(about)], is_cut


def _holds(known: Iterable[job_history.Hold], since: int, until: int) -> list[Hold]:
    """Return what held jobs in this time, the first one from before it if it still did."""
    found: list[Hold] = []
    for each in known:
        if each.time_ms < since:
            found = [Hold(*each)] if each.reason else []
        elif each.time_ms <= until:
            found.append(Hold(*each))
    return found


def _incomplete(job: Job, since_ms: int | None, entries: Sequence[AuditRow] | None, *, is_cut: bool) -> str:
    missing = []
    if since_ms is None or since_ms > job.created_ms:
        missing.append(
            "rates, stopped brokers and holds from before this server started: they are not stored"
        )
    if entries is None:
        missing.append("pauses and changes of limits: there is no audit log")
    elif is_cut:
        missing.append("the oldest of many orders")
    return "; ".join(missing)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/jobs/{job}/timeline",
        "Get the life of a job: its rates, and what was ordered and what happened meanwhile.",
        timeline,
        Timeline,
        shared=True,
    ),
)
