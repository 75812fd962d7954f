import asyncio
from collections.abc import AsyncIterator, Callable
from struct import pack
from typing import Any, ParamSpec, TypeVar

import pytest

from backends.client.connection import LARGE_ANSWER, MAX_IN_FLIGHT, BrokerConnection
from backends.client.errors import (
    HeldError,
    RequestLostError,
    RequestTimedOutError,
    UnreachableError,
    UnsendableError,
    UnsupportedError,
)
from backends.client.handshake import ClientSettings, open_connection
from common.clock import settle
from protocol.frames import decode_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.backends.client.fake import HANG_UP, FakeBroker, broker

P = ParamSpec("P")
R = TypeVar("R")

LIST = ListPartitionReassignmentsRequest()


@pytest.fixture
async def fake() -> AsyncIterator[FakeBroker]:
    async with broker() as running:
        yield running


@pytest.fixture
async def connection(fake: FakeBroker) -> AsyncIterator[BrokerConnection]:
    opened = await open_connection(fake.address, ClientSettings("tester"), 5)
    yield opened
    opened.abort("the test is over")
    await opened.ended.wait()


def listed(timeout_ms: int) -> ListPartitionReassignmentsRequest:
    return ListPartitionReassignmentsRequest(timeout_ms)


def echo(request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(throttle_time_ms=request.timeout_ms)


def holding(fake: FakeBroker) -> Callable[[], Any]:
    """Leave ListPartitionReassignments without answers from now on.

    Returns a function that counts the requests.
    """
    fake.answers[ListPartitionReassignmentsRequest] = lambda _: None
    return lambda: len(fake.asked)


async def until(look: Callable[[], Any], expected: Any) -> None:
    async with asyncio.timeout(30):
        while look() != expected:
            await asyncio.sleep(0.001)


async def test_pipelined_requests_get_their_own_answers(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = echo
    answers = await asyncio.gather(*(connection.ask(listed(number), 5) for number in range(100)))
    assert [each.throttle_time_ms for each in answers] == list(range(100))


async def test_the_number_of_requests_in_flight_is_limited(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    asked = holding(fake)
    tasks = [asyncio.create_task(connection.ask(LIST, 5)) for _ in range(MAX_IN_FLIGHT + 3)]
    await until(asked, MAX_IN_FLIGHT)
    await settle()
    assert asked() == MAX_IN_FLIGHT
    connection.abort("enough")
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in outcomes[MAX_IN_FLIGHT - 1 :]] == [RequestLostError] + [
        UnreachableError
    ] * 3


async def test_a_request_that_waited_too_long_for_capacity_is_not_sent(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    asked = holding(fake)
    tasks = [asyncio.create_task(connection.ask(LIST, 5)) for _ in range(MAX_IN_FLIGHT)]
    await until(asked, MAX_IN_FLIGHT)
    with pytest.raises(UnreachableError, match="busy"):
        await connection.ask(LIST, 0.01)
    connection.abort("enough")
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_highest_common_version_is_used(fake: FakeBroker, connection: BrokerConnection) -> None:
    fake.answers[AlterPartitionReassignmentsRequest] = lambda _: AlterPartitionReassignmentsResponse()
    connection.versions[45] = range(9)
    await connection.ask(AlterPartitionReassignmentsRequest(), 5)
    connection.versions[45] = range(1)
    await connection.ask(AlterPartitionReassignmentsRequest(), 5)
    assert fake.versions[-2:] == [1, 0]


async def test_a_version_can_be_chosen(fake: FakeBroker, connection: BrokerConnection) -> None:
    fake.answers[AlterPartitionReassignmentsRequest] = lambda _: AlterPartitionReassignmentsResponse()
    await connection.ask(AlterPartitionReassignmentsRequest(), 5, version=0)
    assert fake.versions[-1] == 0


async def test_an_api_that_is_not_served_is_named(connection: BrokerConnection) -> None:
    del connection.versions[46]
    with pytest.raises(UnsupportedError, match=r"does not serve ListPartitionReassignments$"):
        await connection.ask(LIST, 5)


@pytest.mark.parametrize(("wanted", "needed"), [(None, "one of 0 to 0"), (3, "version 3")])
async def test_versions_without_overlap_are_named(
    connection: BrokerConnection, wanted: int | None, needed: str
) -> None:
    connection.versions[46] = range(5, 7)
    with pytest.raises(UnsupportedError, match=f"in versions 5 to 6; {needed} is needed"):
        await connection.ask(LIST, 5, version=wanted)


async def test_a_request_that_cannot_be_encoded_uses_no_capacity(connection: BrokerConnection) -> None:
    unencodable: Any = ListPartitionReassignmentsRequest(timeout_ms=2**40)
    for _ in range(MAX_IN_FLIGHT + 1):
        with pytest.raises(UnsendableError, match="cannot be sent ListPartitionReassignmentsRequest v0"):
            await connection.ask(unencodable, 5)
    await connection.ask(LIST, 5)


async def test_a_timeout_leaves_the_result_unknown_and_closes_the_connection(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    holding(fake)
    with pytest.raises(
        RequestTimedOutError, match=r"did not answer ListPartitionReassignments within 0\.01 s"
    ):
        await connection.ask(LIST, 0.01)
    assert not connection.usable
    with pytest.raises(UnreachableError):
        await connection.ask(LIST, 5)


async def test_a_timeout_does_not_shorten_the_timeouts_of_other_requests(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    written: asyncio.Future[tuple[Any, ...]] = asyncio.get_running_loop().create_future()
    fake.answers[AlterPartitionReassignmentsRequest] = lambda _: written
    writing = asyncio.create_task(connection.ask(AlterPartitionReassignmentsRequest(), 30))
    await until(holding(fake), 1)
    with pytest.raises(RequestTimedOutError):
        await connection.ask(LIST, 0.01)
    with pytest.raises(UnreachableError, match="did not answer ListPartitionReassignments"):
        await connection.ask(LIST, 5)
    written.set_result(AlterPartitionReassignmentsResponse())
    assert await writing == AlterPartitionReassignmentsResponse()
    await connection.ended.wait()


@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "timed out"])
async def test_the_connection_closes_when_the_last_caller_gives_up(
    fake: FakeBroker, connection: BrokerConnection, cancelled: bool
) -> None:
    asked = holding(fake)
    last = asyncio.create_task(connection.ask(LIST, 30 if cancelled else 0.2))
    await until(asked, 1)
    with pytest.raises(RequestTimedOutError):
        await connection.ask(LIST, 0.01)
    if cancelled:
        last.cancel()
    await asyncio.wait([last])
    assert last.cancelled() == cancelled
    await connection.ended.wait()


async def test_a_caller_that_gives_up_does_not_affect_others(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = echo
    tasks = [asyncio.create_task(connection.ask(listed(number), 5)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    assert [(await each).throttle_time_ms for each in (tasks[0], tasks[2])] == [0, 2]
    assert tasks[1].cancelled()


TOO_LONG = pack(">i", 2**31 - 1)
NEGATIVE = pack(">i", -1)
STRANGE_ID = pack(">iix", 5, 77)
CUT_SHORT = pack(">iix", 5, 2)
"""The header of the answer to the second request, without a body."""


@pytest.mark.parametrize("answer", [HANG_UP, TOO_LONG, NEGATIVE, STRANGE_ID, CUT_SHORT, b"\xff" * 100])
async def test_an_invalid_answer_leaves_the_result_unknown(
    fake: FakeBroker, connection: BrokerConnection, answer: bytes
) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = lambda _: answer
    with pytest.raises(RequestLostError, match=r"127\.0\.0\.1:\d+"):
        await connection.ask(LIST, 5)
    assert not connection.usable


async def test_an_unexpected_answer_closes_the_connection(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = lambda _: pack(">iixiihii", 20, 2, 0, 0, 0, 0, 0) * 2
    with pytest.raises(RequestLostError):
        await connection.ask(LIST, 5)
    await connection.ended.wait()


async def test_a_retiring_connection_answers_pending_requests_and_closes(
    fake: FakeBroker, connection: BrokerConnection
) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = echo
    task = asyncio.create_task(connection.ask(listed(7), 5))
    await asyncio.sleep(0)
    connection.retire()
    assert not connection.usable
    assert (await task).throttle_time_ms == 7
    await connection.ended.wait()


async def test_a_large_answer_is_decoded_off_the_loop(fake: FakeBroker, connection: BrokerConnection) -> None:
    off_loop = Remembering()
    connection.off_loop = off_loop
    moves = [OngoingPartitionReassignment(n, (1, 2, 3), (), ()) for n in range(LARGE_ANSWER // 16)]
    answer = ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("foo", moves)])
    fake.answers[ListPartitionReassignmentsRequest] = lambda _: answer
    received = await connection.ask(LIST, 5)
    assert len(received.topics[0].partitions) == len(moves)
    fake.answers[ListPartitionReassignmentsRequest] = echo
    await connection.ask(LIST, 5)
    assert off_loop.done == [decode_response]


async def test_decoding_does_not_count_against_the_timeout(
    fake: FakeBroker, connection: BrokerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.client.connection.LARGE_ANSWER", 0)
    connection.off_loop = slow = Held()
    asking = asyncio.create_task(connection.ask(LIST, 30))
    await slow.begun.wait()
    loop = asyncio.get_running_loop()
    later = loop.time() + 31
    monkeypatch.setattr(loop, "time", lambda: later)
    await settle()
    slow.free.set()
    assert await asking == ListPartitionReassignmentsResponse()
    assert connection.usable


class Held:
    """An OffLoop that waits until the test releases it."""

    def __init__(self) -> None:
        self.begun, self.free = asyncio.Event(), asyncio.Event()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.begun.set()
        await self.free.wait()
        return function(*args, **kwargs)


class Remembering:
    """An OffLoop that records its calls."""

    def __init__(self) -> None:
        self.done: list[object] = []

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.done.append(function)
        return function(*args, **kwargs)


async def test_a_request_that_may_not_be_sent_is_held(fake: FakeBroker, connection: BrokerConnection) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = echo
    connection.permits = lambda _: False
    with pytest.raises(HeldError):
        await connection.ask(LIST, 5)
    connection.permits = lambda _: True
    assert (await connection.ask(listed(7), 5)).throttle_time_ms == 7
