"""`/v1/reassignments`: list the ongoing reassignments in the form of a plan (KIP-455's --list), and cancel them."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec import UNSET
from starlette.responses import Response

from common.error_codes import ErrorCode
from common.json.models import convert_model
from common.large_lists import drained
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import TopicPartition
from controller.model.plan import PartitionName, read_row
from controller.reassignment.alter import WHOLE_TOPIC
from controller.state.state import State
from controller.throttle.desired import throttle_rate
from controller.throttle.direct import throttled_by_others
from controller.views.reassignments import ongoing
from server.api.call import Call
from server.api.errors import HttpError
from server.api.models.reassignments import (
    Cancel,
    Cancelled,
    CancelThrottle,
    PlacedPartition,
    ReassignmentRow,
    Reassignments,
)
from server.api.streams import streamed
from server.api.table import Endpoint
from server.api.views.plans import clear_topics, count_accepted, refused_rows
from server.api.views.similar import topic_hint

NAMED = 1_000
"""Cancelled partitions that the answer lists."""


async def reassignments(call: Call) -> Response:
    """Return the ongoing reassignments; an empty object when there are none."""
    state = call.state
    if not (state.reassignments or state.external or state.pending):
        return streamed(Reassignments())
    return streamed(Reassignments(1, []), _rows(state))


async def cancel(call: Call) -> Response:
    """Cancel reassignments: return to the original replicas, or stop, by `reassignment.cancel.mode`.

    Entries of the queue are withdrawn. The answer lists the replicas that the first partitions return to, and the
    throttles that remain (KIP-236).
    """
    body, partitions = await call.read_body(_read)
    targets = await _targets(call, body, partitions)
    event = AlterReassignments(
        targets, principal=call.principal, client_id=call.client_id, via=call.identity.via
    )
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
        refused=[],
    )
    # Of a topic, a job or everything, what is left is cancelled, and that may be nothing.
    named = body.partitions is not UNSET
    harmless = ErrorCode.NONE if named else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    return streamed(answer, refused_rows(reply.topics, harmless))


def _require_topic(state: State, reply: AlterReply) -> None:
    """Raise HttpError if the one topic of the request is unknown: its only row has no partition."""
    for number, outcome in reply.topics[0].rows[:1]:
        if number == WHOLE_TOPIC and outcome.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise HttpError(404, outcome.text + topic_hint(state, reply.topics[0].topic))


def _destinations(state: State, reply: AlterReply) -> Iterator[PlacedPartition | None]:
    """Yield the replicas that each cancelled partition returns to, or already has; None for refused ones."""
    for topic, rows in reply.topics:
        for number, outcome in rows:
            partition = state.partition(topic, number) if outcome.ok else None
            if partition is None:
                yield None
            else:
                rollback = state.reassignments.get(partition.key)
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
    if body.job not in call.state.jobs:
        raise HttpError(404, f"There is no job {body.job}; `reassignd jobs` lists them.")
    of_job = await call.collect(_partitions_of(call.state, body.job))
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
    for reassignment in list(state.reassignments.values()):
        yield reassignment.key if reassignment.job == job else None
    for pending in list(state.pending.values()):
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
