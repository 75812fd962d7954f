"""`/v1/reassignments`: list the ongoing reassignments in the form of a plan (KIP-455's --list), and cancel them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby, islice

from msgspec import UNSET
from starlette.responses import Response

from common.json_models import convert_model
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import TopicPartition
from controller.model.plan import PartitionName, read_row
from controller.state.state import State
from controller.throttle.desired import throttle_rate
from controller.throttle.direct import throttled_by_others
from controller.views.reassignments import ongoing
from server.api.call import Call
from server.api.errors import HttpError
from server.api.models import (
    Cancel,
    Cancelled,
    CancelThrottle,
    PlacedPartition,
    ReassignmentRow,
    Reassignments,
)
from server.api.rows import refused_rows
from server.api.streams import streamed
from server.api.table import Endpoint

NAMED = 1_000
"""Cancelled partitions that the answer lists."""


async def reassignments(call: Call) -> Response:
    """Return the ongoing reassignments; an empty object when there are none."""
    state = call.state
    if not (state.reassignments or state.external or state.pending):
        return streamed(Reassignments())
    return streamed(Reassignments(1, []), _rows(state))


async def cancel(call: Call) -> Cancelled:
    """Cancel reassignments: return to the original replicas, or stop, by `reassignment.cancel.mode`.

    Entries of the queue are withdrawn. The answer lists the replicas that the first partitions return to, and the
    throttles that remain (KIP-236).
    """
    body = await call.read_body(_read)
    event = AlterReassignments(await _targets(call, body), principal=call.principal)
    reply = await call.submit(replace(event, client_id=call.client_id))
    refused = list(refused_rows(reply.topics))
    if body.topic is not UNSET and [row.partition for row in refused] == [-1]:
        raise HttpError(404, refused[0].message)
    state = call.state
    return Cancelled(
        cancelled=sum(len(rows) for _, rows in reply.topics) - len(refused),
        refused=refused,
        partitions=list(islice(_destinations(state, reply), NAMED)),
        throttle=CancelThrottle(
            throttle_rate(state) if state.in_flight else None, throttled_by_others(state)
        ),
    )


def _destinations(state: State, reply: AlterReply) -> Iterator[PlacedPartition]:
    """Yield the replicas that each cancelled partition returns to, or already has."""
    for topic, rows in reply.topics:
        for number, outcome in rows:
            partition = state.partition(topic, number)
            rollback = state.reassignments.get(TopicPartition(topic, number))
            if outcome.ok and partition is not None:
                replicas = partition.current if rollback is None else rollback.target
                yield PlacedPartition(topic, number, replicas)


async def _targets(call: Call, body: Cancel) -> list[AlterTopic] | None:
    """Return the partitions to cancel; None for all."""
    if body.topic is not UNSET:
        return [AlterTopic(body.topic, None)]
    if body.partitions is not UNSET:
        return _cancels(TopicPartition(each.topic, each.partition) for each in body.partitions)
    if body.job is UNSET:
        return None
    if body.job not in call.state.jobs:
        raise HttpError(404, f"There is no job {body.job}; `reassignd jobs` lists them.")
    return _cancels(await call.collect(_partitions_of(call.state, body.job)))


def _read(value: object) -> Cancel:
    if isinstance(value, dict) and isinstance(value.get("partitions"), list):
        rows = [read_row(row, PartitionName, number) for number, row in enumerate(value["partitions"])]
        value = {**value, "partitions": rows}
    body = convert_model(value, Cancel)
    given = [name for name in Cancel.__struct_fields__ if getattr(body, name) is not UNSET]
    if len(given) != 1:
        names = ", ".join(Cancel.__struct_encode_fields__)
        raise HttpError(400, f"expected one of {names}, not {len(given)} of them")
    return body


def _partitions_of(state: State, job: int) -> Iterator[TopicPartition | None]:
    """Yield the partitions of the job that are reassigned or queued; None for those of other jobs."""
    for reassignment in list(state.reassignments.values()):
        yield reassignment.key if reassignment.job == job else None
    for pending in list(state.pending.values()):
        yield pending.key if pending.job == job else None


def _cancels(partitions: Iterable[TopicPartition]) -> list[AlterTopic]:
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
