"""`/v1/jobs`: submit a plan, see how far it is, steer it and take it back (KIP-236)."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from common.json_text import shown
from controller.messages.events import AlterReassignments
from controller.messages.job_events import (
    AlterTopic,
    Pause,
    Prioritize,
    Queue,
    RollBackJob,
    RollBackReply,
)
from controller.model.cluster import Job
from controller.model.plan import Entry, read_plan
from controller.state.state import State
from controller.views.jobs import endings, parts
from server.api.call import Call, fields, pages
from server.api.errors import HttpError, require
from server.api.plans import Assignment, check_plan, originals, plan_rows, topics_of
from server.api.shown import SAMPLE, job_row, part_row, reasons, refused_rows, resting, tally
from server.api.streams import streamed
from server.api.table import LIMIT, OFFSET, Endpoint, Parameter

PRIORITIES = (-1000, 1000)


async def submit(call: Call) -> Response:
    """Take a plan as a whole, or refuse it as a whole when an entry is wrong."""

    def read(value: object) -> list[Entry]:
        entries = read_plan(value)
        check_plan(call.state, entries)
        return entries

    entries = await call.body(read)
    topics, before = await call.compute(len(entries), _prepared, call.state, entries)
    reply = await call.submit(_order(call, topics))
    require(reply.outcome)
    refused = list(refused_rows(reply.topics))
    head = json.dumps({"job": reply.job or None, "accepted": len(entries) - len(refused), "refused": refused})
    rollback = ',"rollback":{"version":1,"partitions":['
    return streamed(head[:-1] + rollback, plan_rows(before), "]}}", status=202)


async def jobs(call: Call) -> dict[str, Any]:
    """The newest first."""
    state = call.state
    numbers = sorted(state.jobs, reverse=True)
    counted = await tally(call)
    offset = call.query["offset"]
    page = [state.jobs[each] for each in numbers[offset : offset + call.query["limit"]] if each in state.jobs]
    return {"total": len(numbers), "jobs": [job_row(call, job, counted) for job in page]}


async def job(call: Call) -> dict[str, Any]:
    """The job, its partitions in pages, and why those that do not move do not."""
    found = _job(call)
    offset, limit = call.query["offset"], call.query["limit"]
    page = await call.taken(pages(offset, parts(call.state, found.id)), limit)
    row = job_row(call, _job(call), await tally(call))
    rests = row["queued"] or row["waiting"] or call.core.progress.standstill
    texts = await call.taken(resting(call, found.id), SAMPLE) if rests else []
    return {
        "job": row,
        "endings": await _endings(call, found),
        "reasons": reasons(texts),
        "sampled": len(texts),
        "partitions": [part_row(call, part) for part in page],
        "next": offset + limit if page and len(page) == limit else None,
    }


async def roll_back(call: Call) -> Response:
    """Every partition of the job back to where the job found it; a job of its own."""
    reply = await call.submit(RollBackJob(_job(call).id, call.principal, call.client_id))
    require(reply.outcome)
    head = json.dumps({"job": reply.job or None})
    return streamed(head[:-1] + ',"skipped":[', _skipped(reply), "]}", status=202)


async def pause(call: Call) -> dict[str, Any]:
    """Start no step of the job; those in flight go on."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> dict[str, Any]:
    """Go on with a paused job."""
    return await _set_paused(call, paused=False)


async def prioritize(call: Call) -> dict[str, Any]:
    """Jobs with a higher priority start their steps first."""
    priority = await call.body(_priority)
    outcome = await call.submit(Prioritize(_job(call).id, priority))
    require(outcome)
    return {"priority": priority}


async def _endings(call: Call, found: Job) -> dict[str, int]:
    """Counted once the job has ended: while it goes on, people ask again and again."""
    if not found.ended_ms:
        return {}
    counted = Counter(await call.taken(endings(call.state, found.id)))
    return {ending.value: times for ending, times in counted.items()}


async def _set_paused(call: Call, *, paused: bool) -> dict[str, Any]:
    outcome = await call.submit(Pause(_job(call).id, paused))
    require(outcome)
    return {"paused": paused}


def _prepared(state: State, entries: list[Entry]) -> tuple[list[AlterTopic], Assignment]:
    """The plan for the controller, and the way back."""
    return topics_of(entries), originals(state, entries)


def _order(call: Call, topics: list[AlterTopic]) -> AlterReassignments | Queue:
    query = call.query
    throttle, priority = query["throttle"] or 0, query["priority"]
    if query["queue"] or query["append"]:
        behind = -1 if priority is None else priority
        return Queue(topics, query["append"], call.principal, call.client_id, behind, throttle)
    order = AlterReassignments(topics, principal=call.principal, client_id=call.client_id)
    return replace(order, priority=priority or 0, throttle=throttle)


def _job(call: Call) -> Job:
    number = call.number("job")
    found = call.state.jobs.get(number)
    if found is None:
        raise HttpError(404, f"There is no job {number}; `reassignd jobs` lists them.")
    return found


def _priority(value: object) -> int:
    priority = fields(value, "the body", "priority").get("priority")
    low, high = PRIORITIES
    if type(priority) is not int or not low <= priority <= high:
        raise HttpError(400, f"'priority' is {shown(priority)}, expected a number from {low} to {high}")
    return priority


def _skipped(reply: RollBackReply) -> Iterator[dict[str, Any]]:
    for (topic, partition), reason in reply.skipped:
        yield {"topic": topic, "partition": partition, "reason": reason}


OPTIONS = (
    Parameter("queue", "boolean", False, "Behind what runs; partitions that move are rolled back first."),
    Parameter("append", "boolean", False, "Queue it even while an earlier queued plan has not started."),
    Parameter("throttle", "integer", None, "Bytes a second for this job's replicas in flight.", 1, 2**63 - 1),
    Parameter(
        "priority", "integer", None, "Higher ones start first; -1 for a queued plan, else 0.", *PRIORITIES
    ),
)

ENDPOINTS = (
    Endpoint("GET", "/v1/jobs", "List the jobs, newest first.", jobs, "Jobs", query=(OFFSET, LIMIT)),
    Endpoint(
        "POST",
        "/v1/jobs",
        "Submit a plan in the format of kafka-reassign-partitions.",
        submit,
        "Accepted",
        "Plan",
        OPTIONS,
        202,
    ),
    Endpoint(
        "GET", "/v1/jobs/{job}", "Get a job and its partitions.", job, "JobDetail", query=(OFFSET, LIMIT)
    ),
    Endpoint(
        "POST",
        "/v1/jobs/{job}/rollback",
        "Roll back a job, finished partitions too.",
        roll_back,
        "RolledBack",
        status=202,
    ),
    Endpoint("POST", "/v1/jobs/{job}/pause", "Pause a job: start none of its steps.", pause, "Paused"),
    Endpoint("POST", "/v1/jobs/{job}/resume", "Resume a job.", resume, "Paused"),
    Endpoint(
        "POST", "/v1/jobs/{job}/priority", "Change the priority of a job.", prioritize, "Priority", "Priority"
    ),
)
