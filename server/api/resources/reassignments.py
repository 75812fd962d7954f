"""`/v1/reassignments`: list the ongoing reassignments as a plan (KIP-455's --list), and cancel them."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from common.error_codes import ErrorCode
from common.json.models import convert_model
from common.lists import drained
from controller.execution.throttle import throttle_rate, throttled_by_others
from controller.messages.disk_events import CancelMoves
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import JobKind, TopicPartition
from controller.model.plan import PartitionName, TopicName, read_row
from controller.reassignment.orders import WHOLE_TOPIC
from controller.state.state import State
from controller.views.reassignments import ongoing
from server.api.shared.answers import streamed
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.models import Refused, Replicas
from server.api.shared.plans import clear_topics, count_accepted, refused_rows, topic_hint


class ReassignmentRow(Struct):
    """An ongoing reassignment."""

    topic: str
    partition: int
    replicas: Annotated[tuple[int, ...], Meta(description="The target replicas.")]
    adding_replicas: Replicas
    removing_replicas: Replicas


class Reassignments(Struct, omit_defaults=True):
    """The ongoing reassignments as a plan; an empty object when there are none."""

    version: Literal[1] | UnsetType = UNSET
    partitions: list[ReassignmentRow] | UnsetType = UNSET


class Cancel(Struct, forbid_unknown_fields=True):
    """The reassignments to cancel. Exactly one of the fields must be given."""

    everything: Literal[True] | UnsetType = msgspec.field(default=UNSET, name="all")
    topic: TopicName | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**63 - 1, extra={"expected": "a job's number"})] | UnsetType = UNSET
    partitions: (
        Annotated[
            list[PartitionName], Meta(min_length=1, extra={"expected": "a list of topics and partitions"})
        ]
        | UnsetType
    ) = UNSET


class PlacedPartition(Struct):
    """A partition and its replicas."""

    topic: str
    partition: int
    replicas: Replicas


class CancelThrottle(Struct):
    """The replication throttles after a cancel."""

    bytes_per_second: Annotated[
        int | None, Meta(description="The rate that reassignd sets, while steps are still in flight.")
    ]
    set_by_others: Annotated[
        list[int] | None,
        Meta(
            description="Brokers with a throttle that reassignd did not set and does not remove; null "
            "when unknown."
        ),
    ]


class Cancelled(Struct):
    """Cancelled reassignments."""

    cancelled: int
    partitions: Annotated[
        list[PlacedPartition],
        Meta(description="The replicas that the first 1,000 cancelled partitions return to."),
    ]
    throttle: CancelThrottle
    moves: Annotated[
        int, Meta(description="Cancelled moves between log directories. What is under way returns.")
    ]
    refused: list[Refused]


NAMED = 1_000
"""Cancelled partitions that the answer lists."""


async def reassignments(call: Call) -> Response:
    """Return the ongoing reassignments; an empty object when there are none."""
    state = call.state
    if not (state.orders.reassignments or state.gateway.external or state.orders.pending):
        return streamed(Reassignments())
    return streamed(Reassignments(1, []), _rows(state))


async def cancel(call: Call) -> Response:
    """Cancel reassignments: return to the original replicas, or stop, by `reassignment.cancel.mode`.

    Entries of the queue are withdrawn. The answer lists the replicas that the first partitions return to, and
    the throttles that remain (KIP-236).
    """
    body, partitions = await call.read_body(_read)
    targets = await _targets(call, body, partitions)
    moves = await _cancel_moves(call, body)
    event = AlterReassignments(targets, requester=call.requester)
    reply = await call.submit(event)
    await call.off_loop.run(clear_topics, targets or [])
    if body.topic is not UNSET:
        _require_topic(call.state, reply)
    state = call.state
    answer = Cancelled(
        cancelled=await call.off_loop.run(count_accepted, reply.topics),
        partitions=await call.collect(_destinations(state, reply), NAMED),
        throttle=CancelThrottle(
            throttle_rate(state) if state.in_flight else None, throttled_by_others(state)
        ),
        moves=moves,
        refused=[],
    )
    # Of a topic, a job or everything, what is left is cancelled, and that may be nothing.
    named = body.partitions is not UNSET
    harmless = ErrorCode.NONE if named else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    return streamed(answer, refused_rows(reply.topics, harmless))


async def _cancel_moves(call: Call, body: Cancel) -> int:
    """Cancel the moves between log directories of the job, the topic, or all; return their number."""
    disks = call.state.disks
    job = None if body.job is UNSET else call.state.orders.jobs.get(body.job)
    if body.job is not UNSET and job is not None and job.kind is JobKind.DISKS:
        return await call.submit(CancelMoves(body.job, call.requester))
    if body.topic is not UNSET and body.topic in disks.open_topics:
        return await call.submit(CancelMoves(None, call.requester, body.topic))
    if body.everything is not UNSET and disks.open:
        return await call.submit(CancelMoves(None, call.requester))
    return 0


def _require_topic(state: State, reply: AlterReply) -> None:
    """Raise HttpError if the one topic of the request is unknown: its only row has no partition."""
    for number, outcome in reply.topics[0].rows[:1]:
        if number == WHOLE_TOPIC and outcome.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise HttpError(404, outcome.text + topic_hint(state, reply.topics[0].topic))


def _destinations(state: State, reply: AlterReply) -> Iterator[PlacedPartition | None]:
    """Yield the replicas that each cancelled partition returns to, or already has; None for refused ones."""
    for topic, rows in reply.topics:
        for number, outcome in rows:
            partition = state.cluster.partition(topic, number) if outcome.ok else None
            if partition is None:
                yield None
            else:
                rollback = state.orders.reassignments.get(partition.key)
                replicas = partition.current if rollback is None else rollback.target
                yield PlacedPartition(topic, number, replicas)


async def _targets(call: Call, body: Cancel, partitions: list[AlterTopic]) -> list[AlterTopic] | None:
    """Return the partitions to cancel; None for all. `partitions` are those that the body lists."""
    if body.topic is not UNSET:
        return [AlterTopic(body.topic, None)]
    if body.partitions is not UNSET:
        return partitions
    if body.job is UNSET:
        return None
    if body.job not in call.state.orders.jobs:
        raise HttpError(404, f"There is no job {body.job}; `reassignd jobs` lists them.")
    return await cancels_of_job(call, body.job)


async def cancels_of_job(call: Call, job: int) -> list[AlterTopic]:
    """Return the cancels of all partitions of a job that have not ended."""
    of_job = await call.collect(_partitions_of(call.state, job))
    return await call.compute(len(of_job), _cancels, of_job)


def _read(value: object) -> tuple[Cancel, list[AlterTopic]]:
    """Return the body, of whose partitions only the first is left, and the cancels of all its partitions."""
    topics: list[AlterTopic] = []
    if isinstance(value, dict) and isinstance(rows := value.get("partitions"), list):
        value = {**value, "partitions": rows[:1]}
        topics = _cancels(read_row(row, PartitionName, number) for number, row in enumerate(drained(rows)))
    body = convert_model(value, Cancel)
    given = [name for name in Cancel.__struct_fields__ if getattr(body, name) is not UNSET]
    if len(given) != 1:
        names = ", ".join(Cancel.__struct_encode_fields__)
        raise HttpError(400, f"expected one of {names}, not {len(given)} of them")
    return body, topics


def _partitions_of(state: State, job: int) -> Iterator[TopicPartition | None]:
    """Yield the partitions of the job that are reassigned or queued; None for those of other jobs."""
    for reassignment in list(state.orders.reassignments.values()):
        yield reassignment.key if reassignment.job == job else None
    for pending in list(state.orders.pending.values()):
        yield pending.key if pending.job == job else None


def _cancels(partitions: Iterable[TopicPartition | PartitionName]) -> list[AlterTopic]:
    return [
        AlterTopic(topic, [AlterRow(each.partition, None) for each in group])
        for topic, group in groupby(partitions, key=lambda each: each.topic)
    ]


def _rows(state: State) -> Iterator[ReassignmentRow]:
    for row in ongoing(state):
        target = row.replicas[: len(row.replicas) - len(row.removing)]
        yield ReassignmentRow(row.topic, row.partition, target, row.adding, row.removing)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/reassignments",
        "List the ongoing reassignments as a plan of their targets; {} if there are none.",
        reassignments,
        Reassignments,
    ),
    Endpoint("POST", "/v1/reassignments/cancel", "Cancel ongoing reassignments.", cancel, Cancelled, Cancel),
)
