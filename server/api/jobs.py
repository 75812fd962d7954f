"""`/v1/jobs`: submit plans; list, pause, prioritize and roll back jobs (KIP-236)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from msgspec import UNSET
from starlette.responses import Response

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterTopic, Pause, Prioritize, Queue, RollBackJob, RollBackReply
from controller.model import cluster
from controller.model.plan import Entry, Plan, read_plan
from controller.state.state import State
from controller.views.jobs import endings, parts
from server.api.call import Call, skip_rows
from server.api.errors import HttpError, require
from server.api.models import (
    Accepted,
    JobDetail,
    JobOptions,
    Jobs,
    Page,
    Paused,
    Priority,
    RolledBack,
    Skipped,
)
from server.api.plans import Assignment, check_plan, originals, plan_rows, topics_of
from server.api.rows import (
    SAMPLE,
    count_by_job,
    count_reasons,
    idle_reasons,
    job_row,
    part_row,
    refused_rows,
)
from server.api.streams import streamed
from server.api.table import Endpoint


async def submit(call: Call, options: JobOptions) -> Response:
    """Submit a plan. One invalid entry refuses the whole plan."""

    def read(value: object) -> list[Entry]:
        entries = read_plan(value)
        check_plan(call.state, entries)
        return entries

    entries = await call.read_body(read)
    topics, before = await call.compute(len(entries), _prepared, call.state, entries)
    reply = await call.submit(_event(call, options, topics))
    require(reply.outcome)
    refused = list(refused_rows(reply.topics))
    answer = Accepted(reply.job or None, len(entries) - len(refused), refused, Plan(partitions=[]))
    return streamed(answer, plan_rows(before), status=202)


async def jobs(call: Call, page: Page) -> Jobs:
    """List the jobs, newest first."""
    state = call.state
    numbers = sorted(state.jobs, reverse=True)
    counts = await count_by_job(call)
    listed = numbers[page.offset : page.offset + page.limit]
    # Jobs may have been deleted while the partitions were counted.
    rows = [job_row(call, state.jobs[number], counts) for number in listed if number in state.jobs]
    return Jobs(len(numbers), rows)


async def job(call: Call, page: Page) -> JobDetail:
    """Show the job, a page of its partitions, and the reasons of those that do not move."""
    number = _job(call).id
    listed = await call.collect(skip_rows(parts(call.state, number), page.offset), page.limit)
    row = job_row(call, _job(call), await count_by_job(call))
    idle = row.queued or row.waiting or call.core.progress.stalled
    reasons = await call.collect(idle_reasons(call, number), SAMPLE) if idle else []
    return JobDetail(
        job=row,
        endings=await _endings(call, _job(call)),
        reasons=count_reasons(reasons),
        sampled=len(reasons),
        partitions=[part_row(call, part) for part in listed],
        next=page.offset + page.limit if listed and len(listed) == page.limit else None,
    )


async def roll_back(call: Call) -> Response:
    """Start a job that returns every partition to the replicas it had before the job."""
    reply = await call.submit(RollBackJob(_job(call).id, call.principal, call.client_id))
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
    outcome = await call.submit(Prioritize(_job(call).id, body.priority))
    require(outcome)
    return body


async def _endings(call: Call, found: cluster.Job) -> dict[str, int]:
    """Count the endings only once the job has ended: clients poll running jobs, and the count takes long."""
    if not found.ended_ms:
        return {}
    counted = Counter(await call.collect(endings(call.state, found.id)))
    return {ending.value: count for ending, count in counted.items()}


async def _set_paused(call: Call, *, paused: bool) -> Paused:
    outcome = await call.submit(Pause(_job(call).id, paused))
    require(outcome)
    return Paused(paused)


def _prepared(state: State, entries: list[Entry]) -> tuple[list[AlterTopic], Assignment]:
    """Return the plan as the controller takes it, and the present replicas."""
    return topics_of(entries), originals(state, entries)


def _event(call: Call, options: JobOptions, topics: list[AlterTopic]) -> AlterReassignments | Queue:
    throttle, priority = options.throttle or 0, options.priority
    if options.queue or options.append:
        queue_priority = -1 if priority is UNSET else priority
        return Queue(topics, options.append, call.principal, call.client_id, queue_priority, throttle)
    event = AlterReassignments(topics, principal=call.principal, client_id=call.client_id)
    return replace(event, priority=priority or 0, throttle=throttle)


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
    Endpoint("GET", "/v1/jobs", "List the jobs, newest first.", jobs, Jobs, query=Page),
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
    Endpoint("GET", "/v1/jobs/{job}", "Get a job and its partitions.", job, JobDetail, query=Page),
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
)
