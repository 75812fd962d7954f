import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backends.client.errors import RequestLostError
from backends.upstream.client import WRITE_SECONDS
from backends.upstream.outcomes import UpstreamCounters
from backends.upstream.submitter import CHUNK, RowSubmitter
from common.clock import settle
from common.error_codes import ErrorCode
from common.tasks import cancel
from controller.gateway.events import Submitted
from controller.messages.effects import Elect, Submit
from controller.model.errors import DONE
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.elect_leaders_request import ElectLeadersRequest
from protocol.messages.elect_leaders_response import ElectLeadersResponse
from tests.backends.upstream.scripted import Events, Scripted
from tests.builders import key


def all_fine(request: AlterPartitionReassignmentsRequest, _: Any) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        responses=[
            ReassignableTopicResponse(
                t.name,
                [ReassignablePartitionResponse(row.partition_index, 0, None) for row in t.partitions or ()],
            )
            for t in request.topics or ()
        ]
    )


class Rig:
    def __init__(self) -> None:
        self.client, self.events = Scripted(), Events()
        self.client.answers[AlterPartitionReassignmentsRequest] = all_fine
        self.client.answers[ElectLeadersRequest] = lambda *_: ElectLeadersResponse()
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.counters = UpstreamCounters()
        self.submitter = RowSubmitter(self.client, self.events.submit, self.ready, self.counters)
        self.task = asyncio.create_task(self.submitter.run())

    async def ready(self) -> None:
        await self.may_go.wait()

    async def add(self, *effects: Submit | Elect) -> None:
        for each in effects:
            self.submitter.add(each)
        await settle()

    def sent(self) -> list[list[tuple[int, Any]]]:
        """Return the rows of each request."""
        requests = self.client.requests(AlterPartitionReassignmentsRequest)
        return [
            [(row.partition_index, row.replicas) for t in r.topics or () for row in t.partitions or ()]
            for r in requests
        ]


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    yield rig
    await cancel(rig.task)


async def test_steps_of_one_decision_share_a_request_and_each_has_its_answer(rig: Rig) -> None:
    await rig.add(Submit("foo", 0, (1,)), Submit("foo", 1, None))
    assert rig.sent() == [[(0, (1,)), (1, None)]]
    assert rig.events == [Submitted([(key("foo-0"), (1,), DONE), (key("foo-1"), None, DONE)])]


async def test_a_request_has_a_bounded_number_of_rows(rig: Rig) -> None:
    await rig.add(*(Submit("foo", n, (1,)) for n in range(CHUNK + 1)))
    assert [len(rows) for rows in rig.sent()] == [CHUNK, 1]


async def test_a_partition_occurs_once_in_a_request_and_orders_keep_their_sequence(rig: Rig) -> None:
    await rig.add(
        Submit("foo", 0, (1,)), Submit("foo", 1, (2,)), Submit("foo", 0, None), Submit("foo", 2, (3,))
    )
    assert rig.sent() == [[(0, (1,)), (1, (2,))], [(0, None), (2, (3,))]]


async def test_rows_without_an_answer_are_reported_as_in_doubt_and_not_sent_again(rig: Rig) -> None:
    rig.client.answers[AlterPartitionReassignmentsRequest] = lambda *_: RequestLostError("cut")
    await rig.add(Submit("foo", 0, (1,)))
    assert len(rig.sent()) == 1
    (submitted,) = rig.events
    rows = submitted.rows
    assert rows[0][2].error is ErrorCode.REQUEST_TIMED_OUT
    with rig.submitter.watch() as outstanding:
        assert outstanding == set()


async def test_rows_without_an_answer_are_logged_once_and_not_counted_as_answered(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.client.answers[AlterPartitionReassignmentsRequest] = lambda *_: RequestLostError("cut")
    await rig.add(Submit("foo", 0, (1,)), Submit("foo", 1, (1,)))
    assert caplog.messages == ["2 rows without an answer, the next poll shows whether they took effect: cut"]
    assert not rig.counters.rows


async def test_an_answer_that_the_request_timed_out_is_logged_like_no_answer(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    late = AlterPartitionReassignmentsResponse(0, True, ErrorCode.REQUEST_TIMED_OUT, None, [])
    rig.client.answers[AlterPartitionReassignmentsRequest] = lambda *_: late
    await rig.add(Submit("foo", 0, (1,)))
    assert [line.split(",")[0] for line in caplog.messages] == ["1 row without an answer"]
    assert rig.counters.rows == {ErrorCode.REQUEST_TIMED_OUT: 1}


async def test_a_throttle_is_waited_for(rig: Rig) -> None:
    rig.may_go.clear()
    await rig.add(Submit("foo", 0, (1,)))
    assert rig.sent() == []
    rig.may_go.set()
    await settle()
    assert len(rig.sent()) == 1


async def test_a_watch_contains_the_rows_in_flight_and_those_added_since(rig: Rig) -> None:
    rig.may_go.clear()
    await rig.add(Submit("foo", 0, (1,)))
    with rig.submitter.watch() as outstanding:
        await rig.add(Submit("foo", 1, (1,)))
        rig.may_go.set()
        await settle()
        assert outstanding == {key("foo-0"), key("foo-1")}
    with rig.submitter.watch() as later:
        assert later == set()


async def test_elections_share_a_request_and_a_lost_one_is_not_repeated(rig: Rig) -> None:
    rig.client.answers[ElectLeadersRequest] = lambda *_: RequestLostError("cut")
    await rig.add(Elect("foo", 0), Elect("foo", 1), Elect("foo", 0))
    (request,) = rig.client.requests(ElectLeadersRequest)
    assert [tuple(each) for each in request.topic_partitions or ()] == [("foo", (0, 1))]
    await rig.add(Submit("foo", 0, (1,)))
    assert len(rig.sent()) == 1


async def test_elections_that_fail_in_the_same_way_are_logged_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.client.answers[ElectLeadersRequest] = lambda *_: ElectLeadersResponse(0, ErrorCode.NOT_CONTROLLER)
    await rig.add(Elect("foo", 0))
    await rig.add(Elect("foo", 1))
    assert caplog.messages == ["preferred leaders were not elected: none was elected: NOT_CONTROLLER"]


async def test_the_timeout_of_a_request_is_longer_than_the_upstreams(rig: Rig) -> None:
    rig.submitter.add(Submit("foo", 0, (1,)))
    rig.submitter.add(Elect("foo", 0))
    await settle()
    assert len(rig.client.asked) == 2
    assert all(request.timeout_ms < 1000 * WRITE_SECONDS for request, _ in rig.client.asked)
