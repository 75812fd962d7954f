"""`/v1/jobs`: submit plans; list, pause, prioritize and roll back jobs (KIP-236)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from msgspec import UNSET
from starlette.responses import Response

from common.large_lists import clear_lists
from controller.messages.events import AlterReassignments
from controller.messages.job_events import (
    AlterTopic,
    Pause,
    Prioritize,
    Queue,
    RollBackJob,
    RollBackReply,
    ThrottleJob,
)
from controller.model import cluster
from controller.model.plan import Entry, Plan, read_plan
from controller.state.state import State
from server.api.call import Call
from server.api.errors import HttpError, require
from server.api.models.jobs import (
    Accepted,
    JobDetail,
    JobOptions,
    Jobs,
    JobThrottle,
    Priority,
    RollbackPreview,
    RolledBack,
    Skipped,
)
from server.api.models.shared import Page, Paused
from server.api.services.directories import check_directories
from server.api.streams import streamed
from server.api.table import Endpoint
from server.api.views.job_rows import job_rows, other_reasons, reason_rows, tally
from server.api.views.parts import PartsPage, part_page
from server.api.views.plans import (
    Assignment,
    checked,
    clear_topics,
    originals,
    plan_rows,
    refused_rows,
    topics_of,
)
from server.api.views.rollback import rollback_preview


async def submit(call: Call, options: JobOptions) -> Response:
    """Submit a plan. One invalid entry refuses the whole plan."""
    entries = await call.read_body(read_plan)
    await checked(call, entries)
    await check_directories(call.services.sizes, entries)
    _, answer = await submit_entries(call, entries, options)
    return answer


async def submit_entries(
    call: Call, entries: list[Entry], options: JobOptions
) -> tuple[int | None, Response]:
    """Submit checked entries; return the job, None if nothing is to be done, and the answer. Raises HttpError."""
    total = len(entries)
    topics, before = await call.compute(total, _prepared, call.state, entries)
    reply = await call.submit(_event(call, options, topics))
    await call.compute(total, clear_topics, topics)
    require(reply.outcome)
    refused = await call.collect(refused_rows(reply.topics))
    accepted = _partitions_of(call.state, reply.job)
    unchanged = total - len(refused) - accepted
    answer = Accepted(reply.job or None, accepted, unchanged, refused, Plan(partitions=[]))
    return answer.job, streamed(answer, plan_rows(before), status=202)


async def jobs(call: Call, page: Page) -> Jobs:
    """List the jobs, newest first."""
    state = call.state
    numbers = sorted(state.jobs, reverse=True)
    listed = numbers[page.offset : page.offset + page.limit]
    return Jobs(len(numbers), await job_rows(call, [state.jobs[number] for number in listed]))


async def job(call: Call, page: PartsPage) -> JobDetail:
    """Show the job, a page of its partitions, and the reasons of those that do not move."""
    number = _job(call).id
    [row] = await job_rows(call, [_job(call)])
    partitions, matching = await part_page(call, number, page, row.total)
    reasons = (await tally(call)).reasons.get(number, Counter())
    shown = page.offset + len(partitions)
    return JobDetail(
        job=row,
        reasons=reason_rows(reasons),
        other_reasons=other_reasons(reasons),
        matching=matching,
        partitions=partitions,
        next=shown if partitions and shown < matching else None,
    )


async def preview_rollback(call: Call) -> RollbackPreview:
    """Return what a rollback of the job would do now."""
    return await rollback_preview(call, _job(call))


async def roll_back(call: Call) -> Response:
    """Start a job that returns every partition to the replicas it had before the job."""
    reply = await call.submit(RollBackJob(_job(call).id, call.principal, call.client_id, call.identity.via))
    require(reply.outcome)
    return streamed(RolledBack(reply.job or None, []), _skipped(reply), status=202)


async def pause(call: Call) -> Paused:
    """Start no more steps of the job. Steps in flight continue."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> Paused:
    """Start steps of the job again."""
    return await _set_paused(call, paused=False)


async def prioritize(call: Call) -> Priority:
    """Change the job's priority. Jobs of higher priority start their steps first."""
    body = await call.body(Priority)
    outcome = await call.submit(Prioritize(_job(call).id, body.priority, call.requester))
    require(outcome)
    return body


async def throttle(call: Call) -> JobThrottle:
    """Change the job's own throttle, also of steps in flight."""
    body = await call.body(JobThrottle)
    outcome = await call.submit(ThrottleJob(_job(call).id, body.throttle or 0, call.requester))
    require(outcome)
    return body


async def _set_paused(call: Call, *, paused: bool) -> Paused:
    outcome = await call.submit(Pause(_job(call).id, paused, call.requester))
    require(outcome)
    return Paused(paused)


def _prepared(state: State, entries: list[Entry]) -> tuple[list[AlterTopic], Assignment]:
    """Return the plan as the controller takes it, and the present replicas. Empties `entries`."""
    prepared = topics_of(entries), originals(state, entries)
    clear_lists(entries)
    return prepared


def _event(call: Call, options: JobOptions, topics: list[AlterTopic]) -> AlterReassignments | Queue:
    throttle, priority = options.throttle or 0, options.priority
    if options.queue or options.append:
        queue_priority = -1 if priority is UNSET else priority
        event = Queue(topics, options.append, call.principal, call.client_id, queue_priority, throttle)
        return replace(event, paused=options.paused, via=call.identity.via)
    order = AlterReassignments(
        topics, principal=call.principal, client_id=call.client_id, via=call.identity.via
    )
    return replace(order, priority=priority or 0, throttle=throttle, paused=options.paused)


def _partitions_of(state: State, number: int) -> int:
    job = state.jobs.get(number)
    return 0 if job is None else job.total


def _job(call: Call) -> cluster.Job:
    number = call.number("job")
    found = call.state.jobs.get(number)
    if found is None:
        raise HttpError(404, f"There is no job {number}; `reassignd jobs` lists them.")
    return found


def _skipped(reply: RollBackReply) -> Iterator[Skipped]:
    for (topic, partition), reason in reply.skipped:
        yield Skipped(topic, partition, reason)


ENDPOINTS = (
    Endpoint("GET", "/v1/jobs", "List the jobs, newest first.", jobs, Jobs, query=Page, shared=True),
    Endpoint(
        "POST",
        "/v1/jobs",
        "Submit a plan in the format of kafka-reassign-partitions.",
        submit,
        Accepted,
        Plan,
        JobOptions,
        202,
    ),
    Endpoint(
        "GET",
        "/v1/jobs/{job}",
        "Get a job and its partitions.",
        job,
        JobDetail,
        query=PartsPage,
        shared=True,
    ),
    Endpoint(
        "GET",
        "/v1/jobs/{job}/rollback",
        "Preview a rollback: what it would do, in numbers.",
        preview_rollback,
        RollbackPreview,
    ),
    Endpoint(
        "POST",
        "/v1/jobs/{job}/rollback",
        "Roll back a job, finished partitions too.",
        roll_back,
        RolledBack,
        status=202,
    ),
    Endpoint("POST", "/v1/jobs/{job}/pause", "Pause a job: start none of its steps.", pause, Paused),
    Endpoint("POST", "/v1/jobs/{job}/resume", "Resume a job.", resume, Paused),
    Endpoint(
        "POST", "/v1/jobs/{job}/priority", "Change the priority of a job.", prioritize, Priority, Priority
    ),
    Endpoint(
        "POST",
        "/v1/jobs/{job}/throttle",
        "Change the throttle of a job.",
        throttle,
        JobThrottle,
        JobThrottle,
    ),
)
