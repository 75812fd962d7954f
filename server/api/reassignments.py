"""`/v1/reassignments`: what is ongoing, in the plan's own format (KIP-455's --list), and how to cancel it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from starlette.responses import Response

from common.json_text import shown
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import TopicPartition
from controller.model.plan import read_key
from controller.reassignment.throttle import throttle_rate, throttled_by_others
from controller.state.state import State
from controller.views.reassignments import ongoing
from server.api.call import Call, fields
from server.api.errors import HttpError
from server.api.shown import refused_rows
from server.api.streams import streamed
from server.api.table import Endpoint

NAMED = 1_000
"""Partitions of a cancel whose way is told."""
HOW = ("all", "topic", "job", "partitions")


async def reassignments(call: Call) -> Response:
    """An empty object when nothing is ongoing."""
    state = call.state
    if not (state.reassignments or state.external or state.pending):
        return streamed("{}")
    return streamed('{"version":1,"partitions":[', _rows(call), "]}")


async def cancel(call: Call) -> dict[str, Any]:
    """Back to the originals, or stop, as `reassignment.cancel.mode` says; what is queued is withdrawn.

    The answer names where the first of them go, and the throttles that stay (KIP-236).
    """
    how, what = await call.body(_read)
    event = AlterReassignments(await _targets(call, how, what), principal=call.principal)
    reply = await call.submit(replace(event, client_id=call.client_id))
    refused = list(refused_rows(reply.topics))
    if how == "topic" and [row["partition"] for row in refused] == [-1]:
        raise HttpError(404, refused[0]["message"])
    return {
        "cancelled": sum(len(rows) for _, rows in reply.topics) - len(refused),
        "refused": refused,
        "partitions": list(islice(_ways_back(call.state, reply), NAMED)),
        "throttle": {
            "bytes_per_second": throttle_rate(call.state) if call.state.in_flight else None,
            "set_by_others": throttled_by_others(call.state),
        },
    }


def _ways_back(state: State, reply: AlterReply) -> Iterator[dict[str, Any]]:
    """Where each cancelled partition goes, or has gone."""
    for topic, rows in reply.topics:
        for number, outcome in rows:
            partition, wanted = (
                state.partition(topic, number),
                state.reassignments.get(TopicPartition(topic, number)),
            )
            if outcome.ok and partition is not None:
                replicas = partition.current if wanted is None else wanted.target
                yield {"topic": topic, "partition": number, "replicas": replicas}


async def _targets(call: Call, how: str, what: Any) -> list[AlterTopic] | None:
    if how == "all":
        return None
    if how == "topic":
        return [AlterTopic(what, None)]
    if how == "partitions":
        return _cancels(what)
    if what not in call.state.jobs:
        raise HttpError(404, f"There is no job {what}; `reassignd jobs` lists them.")
    return _cancels(await call.taken(_keys_of(call, what)))


def _read(value: object) -> tuple[str, Any]:
    given = fields(value, "the body", *HOW)
    if len(given) != 1:
        raise HttpError(400, f"expected one of {', '.join(HOW)}, not {len(given)} of them")
    [(how, what)] = given.items()
    if how == "partitions":
        return how, _keys(what)
    valid = {"all": what is True, "topic": isinstance(what, str) and what != "", "job": type(what) is int}
    if not valid[how]:
        expected = {"all": "true", "topic": "a topic's name", "job": "a job's number"}[how]
        raise HttpError(400, f"'{how}' is {shown(what)}, expected {expected}")
    return how, what


def _keys(value: Any) -> list[TopicPartition]:
    if not isinstance(value, list) or not value:
        raise HttpError(400, f"'partitions' is {shown(value)}, expected a list of topics and partitions")
    named = [read_key(row, f"partitions[{number}]") for number, row in enumerate(value)]
    return [TopicPartition(topic, partition) for topic, partition, _ in named]


def _keys_of(call: Call, job: int) -> Iterator[TopicPartition | None]:
    state = call.state
    for wanted in list(state.reassignments.values()):
        yield wanted.key if wanted.job == job else None
    for pending in list(state.pending.values()):
        yield pending.key if pending.job == job else None


def _cancels(keys: Iterable[TopicPartition]) -> list[AlterTopic]:
    return [
        AlterTopic(topic, [AlterRow(key.partition, None) for key in group])
        for topic, group in groupby(keys, key=lambda key: key.topic)
    ]


def _rows(call: Call) -> Iterator[dict[str, Any]]:
    for row in ongoing(call.state):
        yield {
            "topic": row.topic,
            "partition": row.partition,
            "replicas": row.replicas[: len(row.replicas) - len(row.removing)],
            "adding_replicas": row.adding,
            "removing_replicas": row.removing,
        }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/reassignments",
        "List the ongoing reassignments as a plan of their targets; {} if there are none.",
        reassignments,
        "Reassignments",
    ),
    Endpoint(
        "POST", "/v1/reassignments/cancel", "Cancel ongoing reassignments.", cancel, "Cancelled", "Cancel"
    ),
)
