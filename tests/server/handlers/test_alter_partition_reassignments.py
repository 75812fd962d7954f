"""AlterPartitionReassignments (45)."""

from collections.abc import Callable

import pytest

from common.error_codes import ErrorCode
from common.off_loop import WorkerThread
from controller.messages.event import Requester
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, TopicOutcomes
from controller.model.errors import DONE, Outcome
from protocol.codec.wire import codec
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from server.dispatch.context import LARGE_ROWS
from server.handlers import alter_partition_reassignments
from server.handlers.alter_partition_reassignments import handle, refuse
from tests.protocol.oracle import peer_class
from tests.server.fakes import FakeDriver, answer, context, decoded, encodable

REQUEST = AlterPartitionReassignmentsRequest(
    timeout_ms=5,
    allow_replication_factor_change=False,
    topics=[
        ReassignableTopic("foo", [ReassignablePartition(0, (1, 2)), ReassignablePartition(1, None)]),
        ReassignableTopic("bar", None),
    ],
)


async def test_the_rows_reach_the_controller_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alter_partition_reassignments, "time_ns", lambda: 1_000_000_000)
    driver = FakeDriver(AlterReply(DONE, []))
    await answer(handle, REQUEST, context(1, driver=driver))
    foo = AlterTopic("foo", [AlterRow(0, (1, 2)), AlterRow(1, None)])
    expected = AlterReassignments([foo, AlterTopic("bar", None)], 1_005, False, Requester(client_id="me"))
    assert driver.events == [expected]


async def test_null_topics_cancel_everything() -> None:
    driver = FakeDriver(AlterReply(DONE, []))
    await answer(handle, AlterPartitionReassignmentsRequest(topics=None), context(0, driver=driver))
    (event,) = driver.events
    assert isinstance(event, AlterReassignments)
    assert event.topics is None


async def test_each_row_is_answered_with_its_outcome() -> None:
    no = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")
    reply = AlterReply(DONE, [TopicOutcomes("foo", [(0, DONE), (1, no)])])
    response = await answer(handle, REQUEST, context(1, driver=FakeDriver(reply)))
    encodable(response, 45)
    assert (response.error_code, response.error_message) == (0, None)
    assert response.allow_replication_factor_change is False
    assert [tuple(row) for row in response.responses[0].partitions] == [(0, 0, None), (1, 39, "no")]


@pytest.mark.parametrize("version", [0, 1])
async def test_the_job_is_in_a_tagged_field_that_kafka_python_skips(version: int) -> None:
    reply = AlterReply(DONE, [TopicOutcomes("foo", [(0, DONE)])], job=7)
    response = await answer(handle, REQUEST, context(version, driver=FakeDriver(reply)))
    wire = codec(AlterPartitionReassignmentsResponse, version)
    assert wire.decode(wire.encode(response)).job_id == 7
    theirs = peer_class("AlterPartitionReassignmentsResponse").decode(wire.encode(response), version=version)
    assert [row.error_code for topic in theirs.responses for row in topic.partitions] == [0]
    without = wire.encode(response._replace(job_id=0))
    assert len(wire.encode(response)) - len(without) == 11  # tag, length and number, only if there is a job


async def test_an_error_of_the_whole_request_is_at_top_level() -> None:
    timed_out = Outcome(ErrorCode.REQUEST_TIMED_OUT)
    reply = AlterReply(timed_out, [TopicOutcomes("foo", [(0, timed_out)])])
    response = await answer(handle, REQUEST, context(0, driver=FakeDriver(reply)))
    assert response.error_code == 7
    assert decoded(response, 1).responses[0].partitions[0].error_code == 7


async def test_an_empty_request_is_answered_with_an_empty_message() -> None:
    driver = FakeDriver()
    response = await answer(handle, AlterPartitionReassignmentsRequest(), context(0, driver=driver))
    assert (response.error_code, response.error_message, response.responses) == (0, "", ())
    assert driver.events == []


async def test_a_large_request_is_answered_in_the_same_way() -> None:
    rows = [(index, DONE) for index in range(2000)]
    driver = FakeDriver(AlterReply(DONE, [TopicOutcomes("foo", rows)]))
    topic = ReassignableTopic("foo", [ReassignablePartition(index, (1,)) for index in range(2000)])
    request = AlterPartitionReassignmentsRequest(topics=[topic])
    response = await answer(handle, request, context(0, driver=driver))
    assert [row[0] for row in response.responses[0].partitions] == list(range(2000))


def test_a_refusal_is_repeated_on_every_row() -> None:
    response = encodable(refuse(REQUEST, 31, "denied"), 45)
    assert (response.error_code, response.error_message) == (31, "denied")
    assert [topic.name for topic in response.responses] == ["foo", "bar"]
    assert [tuple(row) for row in response.responses[0].partitions] == [(0, 31, "denied"), (1, 31, "denied")]
    assert list(response.responses[1].partitions) == []


async def test_many_topics_without_rows_are_translated_in_the_worker_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []

    async def run(_: WorkerThread, function: Callable[..., object], *given: object) -> object:
        calls.append(function)
        return function(*given)

    monkeypatch.setattr(WorkerThread, "run", run)
    request = REQUEST._replace(topics=[ReassignableTopic("foo", [])] * (LARGE_ROWS + 1))
    reply = AlterReply(DONE, [TopicOutcomes("foo", [])] * (LARGE_ROWS + 1))
    response = await answer(handle, request, context(1, driver=FakeDriver(reply)))
    assert (len(response.responses), len(calls)) == (LARGE_ROWS + 1, 2)
