"""`/v1/jobs`: submit plans; list, pause, prioritize and roll back jobs (KIP-236)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from common.clock import wall_clock
from common.json.text import abbreviated
from common.lists import clear_lists
from common.plan_errors import PlanError
from controller.messages.events import AlterReassignments
from controller.messages.job_events import (
    AlterTopic,
    LimitJob,
    Pause,
    Prioritize,
    Queue,
    RollBackJob,
    RollBackReply,
    ThrottleJob,
)
from controller.model import cluster
from controller.model.jobs import PRIORITIES, JobKind
from controller.model.limits import UNLIMITED, PlanLimits
from controller.model.plan import Entry, Plan, examine_plan
from controller.model.replicas import without
from controller.scheduling.limits import LETTERED, parse_limits
from controller.state.state import State
from controller.views.rollback import RollbackRow, rollback_rows
from server.api.shared.answers import streamed
from server.api.shared.bodies import MAX_SMALL_BODY
from server.api.shared.call import Call, Endpoint
from server.api.shared.disk_moves import ONLY_B, move_page, preview_of_moves
from server.api.shared.errors import HttpError, require
from server.api.shared.job_parts import Part, PartsPage, part_page
from server.api.shared.job_rows import (
    Job,
    JobLimit,
    job_limits,
    job_of,
    job_rows,
    other_reasons,
    reason_rows,
    tally,
)
from server.api.shared.models import OtherReasons, Page, Paused, Reason, Refused, WaitingPartition
from server.api.shared.plans import (
    Assignment,
    checked,
    clear_topics,
    originals,
    plan_rows,
    refused_rows,
    topics_of,
)


class Accepted(Struct):
    """A submitted plan."""

    job: Annotated[int | None, Meta(description="Null when all replicas are already where they are to be.")]
    accepted: Annotated[int, Meta(description="Partitions in the job.")]
    unchanged: Annotated[
        int,
        Meta(
            description="Entries that are not in the job: their partitions have the target replicas, or "
            "move to them."
        ),
    ]
    refused: list[Refused]
    notes: Annotated[
        list[str],
        Meta(
            description="Brokers and log directories of a proposal that Kafka does not cordon, or still "
            "cordons (KIP-1066)."
        ),
    ]
    rollback: Annotated[Plan, Meta(description="The plan that restores the present replicas.")]


class Jobs(Struct):
    """A page of jobs."""

    total: int
    jobs: list[Job]


class JobDetail(Struct):
    """A job and a page of its partitions."""

    job: Job
    reasons: list[Reason]
    other_reasons: OtherReasons
    matching: Annotated[
        int, Meta(description="Number of partitions that `state`, `topic` and `broker` select, of all pages.")
    ]
    partitions: list[Part]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


class Skipped(Struct):
    """A partition that a rollback leaves as it is."""

    topic: str
    partition: int
    reason: str


class RolledBack(Struct):
    """A started rollback."""

    job: Annotated[
        int | None, Meta(description="The job that rolls back; null when there is nothing to move back.")
    ]
    cancelled: Annotated[
        int,
        Meta(description="Moves between log directories that had not arrived, and were cancelled."),
    ]
    skipped: list[Skipped]


class RollbackPreview(Struct):
    """What a rollback of the job would do now."""

    undoes: Annotated[
        int | None,
        Meta(
            description="The job that this one has rolled back: partitions move to the targets of that "
            "job again."
        ),
    ]
    partitions: Annotated[int, Meta(description="Partitions that move back.")]
    bytes: Annotated[int, Meta(description="Bytes to copy for that, of replicas whose size is known.")]
    unmoved: Annotated[
        int,
        Meta(description="Partitions that have not moved yet: they are taken out of the job, nothing else."),
    ]
    withdrawn: Annotated[int, Meta(description="Queued entries that have not started and are withdrawn.")]
    unchanged: Annotated[
        int, Meta(description="Partitions that are where the rollback leads, or on their way.")
    ]
    skipped: Annotated[int, Meta(description="Partitions that are left as they are.")]
    examples: Annotated[list[Skipped], Meta(description="The first 100 partitions that are skipped.")]
    waiting_partitions: Annotated[
        int,
        Meta(
            description="Partitions that move back but cannot get there with the brokers that are live now."
        ),
    ]
    waiting: Annotated[list[WaitingPartition], Meta(description="The first 100 of them.")]


class Priority(Struct, forbid_unknown_fields=True):
    """The priority of a job: jobs of higher priority start their steps first."""

    priority: Annotated[int, Meta(ge=PRIORITIES[0], le=PRIORITIES[1])]


class JobThrottle(Struct, forbid_unknown_fields=True):
    """The throttle of a job of its own. The lowest of the throttles of the cluster, the jobs and the schedule is in force."""  # noqa: E501 (part of the OpenAPI document)

    throttle: Annotated[
        Annotated[int, Meta(ge=1, le=2**63 - 1)] | None, Meta(description="Bytes per second, null for none.")
    ]


JobLimits: TypeAlias = Annotated[
    dict[str, Annotated[int, Meta(ge=1, le=UNLIMITED)] | None],
    Meta(
        title="JobLimits",
        min_length=1,
        description="New limits of the job's own by name: R, P, L, C, B. Null removes one; those that are not"
        " named stay.",
    ),
]


class OwnLimits(Struct):
    """The limits of a job's own."""

    limits: list[JobLimit]


class JobOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of a submitted plan."""

    queue: Annotated[
        bool,
        Meta(
            description="Queue the plan behind ongoing reassignments; its moving partitions are rolled "
            "back first."
        ),
    ] = False
    append: Annotated[
        bool,
        Meta(
            description="Queue the plan even if an earlier queued plan has partitions that have not started."
        ),
    ] = False
    paused: Annotated[bool, Meta(description="Start no step until the job is resumed.")] = False
    throttle: (
        Annotated[
            int,
            Meta(ge=1, le=2**63 - 1, description="Bytes per second for the replicas that this job copies."),
        ]
        | UnsetType
    ) = UNSET
    limits: Annotated[
        str,
        Meta(
            description="Limits of the job's own, such as `P=20,B=2`; those of the cluster apply too. Names "
            "are R, P, L, C, B."
        ),
    ] = ""
    priority: (
        Annotated[
            int,
            Meta(
                ge=PRIORITIES[0],
                le=PRIORITIES[1],
                description="Jobs of higher priority start their steps first. Default: -1 for a queued "
                "plan, else 0.",
            ),
        ]
        | UnsetType
    ) = UNSET
    elect: Annotated[
        bool,
        Meta(
            description="Elect the preferred leader of each partition when its last step ends, within "
            "limit L; also where only the leader differs."
        ),
    ] = False
    until_ms: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=2**53,
                description="Roll the job back at this time, in milliseconds since 1970. The plan may only "
                "change the order of replicas.",
            ),
        ]
        | UnsetType
    ) = UNSET


EXAMPLES = 100
"""Most partitions that are listed, of those that are skipped and of those that wait."""


async def submit(call: Call, options: JobOptions) -> Response:
    """Submit a plan. One invalid entry refuses the whole plan."""
    entries = await checked(call, *await call.read_body(examine_plan))
    _, answer = await submit_entries(call, entries, options)
    return answer


async def submit_entries(
    call: Call, entries: list[Entry], options: JobOptions, notes: Sequence[str] = ()
) -> tuple[int | None, Response]:
    """Submit checked entries; return the job, None if nothing is to be done, and the answer.

    `notes` are lines for the answer. Raises HttpError.
    """
    total = len(entries)
    _check_options(options)
    topics, before = await call.compute(total, _prepared, call.state, entries, options)
    reply = await call.submit(_event(call, options, topics))
    await call.compute(total, clear_topics, topics)
    require(reply.outcome)
    refused = await call.collect(refused_rows(reply.topics))
    accepted = _partitions_of(call.state, reply.job)
    unchanged = total - len(refused) - accepted
    answer = Accepted(reply.job or None, accepted, unchanged, refused, list(notes), Plan(partitions=[]))
    return answer.job, streamed(answer, plan_rows(before), status=202)


async def jobs(call: Call, page: Page) -> Jobs:
    """List the jobs, newest first."""
    state = call.state
    numbers = sorted(state.orders.jobs, reverse=True)
    listed = numbers[page.offset : page.offset + page.limit]
    rows = await job_rows(call, [state.orders.jobs[number] for number in listed], await tally(call))
    return Jobs(len(numbers), rows)


async def job(call: Call, page: PartsPage) -> JobDetail:
    """Show the job, a page of its partitions, and the reasons of those that do not move."""
    counted = await tally(call)
    [row] = await job_rows(call, [job_of(call)], counted)
    if job_of(call).kind is JobKind.DISKS:
        partitions, matching = await move_page(call, row.id, page)
    else:
        partitions, matching = await part_page(call, row.id, page, row.total)
    reasons = counted.reasons.get(row.id, Counter())
    return JobDetail(
        job=row,
        reasons=reason_rows(reasons),
        other_reasons=other_reasons(reasons),
        matching=matching,
        partitions=partitions,
        next=page.next(len(partitions), matching),
    )


async def preview_rollback(call: Call) -> RollbackPreview:
    """Return what a rollback of the job would do now. Nothing is changed."""
    job = job_of(call)
    if job.kind is JobKind.DISKS:
        return await _preview_moves(call, job)
    rows = await call.collect(rollback_rows(call.state, job))
    moving = [row for row in rows if row.replicas and not row.unmoved]
    skipped = [row for row in rows if row.reason]
    waiting = [row for row in moving if row.waits_for]
    withdrawn = sum(row.withdrawn for row in rows)
    unmoved = sum(row.unmoved for row in rows)
    return RollbackPreview(
        undoes=job.undoes or None,
        partitions=len(moving),
        bytes=sum(_bytes(call, row) for row in moving),
        unmoved=unmoved,
        withdrawn=withdrawn,
        unchanged=len(rows) - len(moving) - len(skipped) - withdrawn - unmoved,
        skipped=len(skipped),
        examples=[Skipped(*row.key, row.reason) for row in skipped[:EXAMPLES]],
        waiting_partitions=len(waiting),
        waiting=[WaitingPartition(*row.key, row.reached, row.waits_for) for row in waiting[:EXAMPLES]],
    )


async def _preview_moves(call: Call, job: cluster.Job) -> RollbackPreview:
    found = await preview_of_moves(call, job.id)
    return RollbackPreview(
        undoes=job.undoes or None,
        partitions=found.partitions,
        bytes=found.bytes,
        unmoved=found.unmoved,
        withdrawn=0,
        unchanged=job.total - found.partitions - found.unmoved - len(found.skipped),
        skipped=len(found.skipped),
        examples=[Skipped(*key, reason) for key, reason in found.skipped[:EXAMPLES]],
        waiting_partitions=0,
        waiting=[],
    )


async def roll_back(call: Call) -> Response:
    """Start a job that returns every partition to the replicas it had before the job."""
    reply = await call.submit(RollBackJob(job_of(call).id, call.requester))
    require(reply.outcome)
    return streamed(RolledBack(reply.job or None, reply.cancelled, []), _skipped(reply), status=202)


async def pause(call: Call) -> Paused:
    """Start no more steps of the job. Steps in flight continue."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> Paused:
    """Start steps of the job again."""
    return await _set_paused(call, paused=False)


async def prioritize(call: Call) -> Priority:
    """Change the job's priority. Jobs of higher priority start their steps first."""
    body = await call.body(Priority)
    outcome = await call.submit(Prioritize(job_of(call).id, body.priority, call.requester))
    require(outcome)
    return body


async def throttle(call: Call) -> JobThrottle:
    """Change the job's own throttle, also of steps in flight."""
    body = await call.body(JobThrottle)
    outcome = await call.submit(ThrottleJob(job_of(call).id, body.throttle or 0, call.requester))
    require(outcome)
    return body


async def limit(call: Call) -> OwnLimits:
    """Change limits of the job's own. They apply from its next step on; its steps in flight count at once."""
    changes = await call.read_body(_limit_changes, MAX_SMALL_BODY)
    if job_of(call).kind is JobKind.DISKS and changes.keys() != {"per_broker"}:
        raise HttpError(400, ONLY_B)
    require(await call.submit(LimitJob(job_of(call).id, changes, call.requester)))
    return OwnLimits(job_limits(call.state, job_of(call)))


def _limit_changes(value: object) -> dict[str, int | None]:
    """Return the values by field of `PlanLimits`. Raises HttpError that names what is wrong."""
    fields = {limit.name: limit.field for limit in LETTERED}
    if not isinstance(value, dict) or not value:
        raise HttpError(400, f"the body is {abbreviated(value)}, expected an object of limits")
    changes: dict[str, int | None] = {}
    for name, limit in value.items():
        if name.upper() not in fields:
            raise HttpError(400, f"{abbreviated(name)} is no limit of a job; these are {', '.join(fields)}")
        if limit is not None and not (type(limit) is int and 1 <= limit <= UNLIMITED):
            raise HttpError(400, f"{name} is {abbreviated(limit)}: it must be an integer in [1, {UNLIMITED}]")
        changes[fields[name.upper()]] = limit
    return changes


async def _set_paused(call: Call, *, paused: bool) -> Paused:
    outcome = await call.submit(Pause(job_of(call).id, paused, call.requester))
    require(outcome)
    return Paused(paused)


def _check_options(options: JobOptions) -> None:
    """Raise HttpError for options that contradict each other, and for a time in the past."""
    if (options.queue or options.append) and (options.elect or options.until_ms):
        raise HttpError(
            400, "A queued plan cannot have elect or until_ms: submit it when the jobs have ended."
        )
    if options.until_ms and options.until_ms <= wall_clock():
        raise HttpError(400, "until_ms is in the past: give a later time.")
    limits_of_options(options)


def _prepared(state: State, entries: list[Entry], options: JobOptions) -> tuple[list[AlterTopic], Assignment]:
    """Return the plan as the controller takes it, and the present replicas. Empties `entries`."""
    if options.until_ms:
        _check_order_only(state, entries)
    prepared = topics_of(entries), originals(state, entries)
    clear_lists(entries)
    return prepared


def _check_order_only(state: State, entries: list[Entry]) -> None:
    """Raise HttpError if the plan moves replicas: its rollback would copy them back."""
    for topic, number, replicas, _ in entries:
        partition = state.cluster.partition(topic, number)
        if partition is not None and set(partition.current) != set(replicas):
            raise HttpError(
                422,
                f"{topic}-{number} gets other replicas: a plan with until_ms may only change their order,"
                " because its rollback would move the data back.",
            )


def _event(call: Call, options: JobOptions, topics: list[AlterTopic]) -> AlterReassignments | Queue:
    throttle, priority, limits = options.throttle or 0, options.priority, limits_of_options(options)
    if options.queue or options.append:
        queue_priority = -1 if priority is UNSET else priority
        event = Queue(topics, options.append, call.requester, queue_priority, throttle)
        return replace(event, limits=limits, paused=options.paused)
    order = AlterReassignments(topics, requester=call.requester, limits=limits)
    order = replace(order, priority=priority or 0, throttle=throttle, paused=options.paused)
    return replace(order, elects=options.elect, until_ms=options.until_ms or 0)


def limits_of_options(options: JobOptions) -> PlanLimits:
    """Return the limits of the job's own. Raises HttpError."""
    try:
        return parse_limits(options.limits)
    except PlanError as error:
        raise HttpError(400, f"limits: {error}") from error


def _partitions_of(state: State, number: int) -> int:
    job = state.orders.jobs.get(number)
    return 0 if job is None else job.total


def _skipped(reply: RollBackReply) -> Iterator[Skipped]:
    for (topic, partition), reason in reply.skipped:
        yield Skipped(topic, partition, reason)


def _bytes(call: Call, row: RollbackRow) -> int:
    partition = call.state.cluster.partition(*row.key)
    size = call.services.sizes.size(row.key)
    return 0 if partition is None or size is None else size * len(without(row.replicas, partition.current))


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
    Endpoint(
        "POST", "/v1/jobs/{job}/limits", "Change the limits of a job's own.", limit, OwnLimits, JobLimits
    ),
)
