"""The two connections of a client, with fake transports: order, limits, back-pressure and their end."""

import asyncio
import logging
from collections.abc import Callable
from struct import pack

import pytest

from protocol.codec.errors import DecodeError
from server.connections.client_connection import ConnectionLimits
from server.dispatch.context import ANONYMOUS, UNKNOWN
from server.driver.driver import DriverStoppedError
from server.relay.exchange import Exchange, IncomingRequest, RelayedClient
from server.relay.sasl import LARGEST as LARGEST_TOKEN
from tests.server.relay.pair import (
    CHANGED,
    HELD,
    KEPT,
    LATER,
    PASSES,
    REFUSED,
    SILENT,
    Rig,
    answer,
    frame,
    request,
)
from tests.server.rig import settle


@pytest.fixture
async def rig() -> Rig:
    return await Rig().connected()


def closings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_requests_and_answers_pass_unchanged(rig: Rig) -> None:
    incoming = request(PASSES, 1, b"x" * 100) + request(PASSES, 2)
    rig.ask(incoming[:30])
    rig.ask(incoming[30:])
    assert rig.sent == incoming
    answered = answer(1, b"y" * 100) + answer(2)
    rig.reply(answered[:30])
    rig.reply(answered[30:])
    assert rig.got == answered


async def test_the_client_is_not_read_before_the_broker_is_connected() -> None:
    rig = Rig()
    await settle()
    assert rig.client.flow == ["paused"]
    rig.ask(request(PASSES, 1))
    rig.upstreams.let.set()
    await settle()
    assert rig.client.flow == ["paused", "resumed"]
    assert rig.sent == request(PASSES, 1)


async def test_an_unreachable_broker_closes_the_connection() -> None:
    rig = Rig()
    rig.upstreams.reachable = False
    rig.upstreams.let.set()
    await settle()
    assert rig.client.closed


async def test_a_client_that_disconnects_meanwhile_is_not_connected() -> None:
    rig = Rig()
    rig.relay.connection_lost(None)
    rig.upstreams.let.set()
    await settle()
    assert rig.upstreams.upstream is None
    assert rig.host.gone == [rig.relay]


async def test_an_interceptor_replaces_request_and_answer(rig: Rig) -> None:
    rig.ask(request(PASSES, 1), request(CHANGED, 2), request(PASSES, 3))
    assert rig.sent == request(PASSES, 1) + b"<asked>" + request(PASSES, 3)
    rig.reply(answer(1), answer(2, b"theirs"), answer(3))
    assert rig.got == answer(1) + b"<ours>" + answer(3)


async def test_an_answer_in_progress_delays_those_behind_it(rig: Rig) -> None:
    rig.ask(request(LATER, 1), request(PASSES, 2), request(PASSES, 3))
    rig.reply(answer(1), answer(2))
    rig.reply(answer(3))
    assert rig.got == b""
    assert rig.upstreams.transport.flow == ["paused"]
    assert rig.relay.pending is not None
    rig.later.set_result(b"<later>")
    await settle()
    assert rig.got == b"<later>" + answer(2) + answer(3)
    assert rig.upstreams.transport.flow == ["paused", "resumed"]


async def test_no_answer_is_expected_to_a_request_without_response(rig: Rig) -> None:
    rig.ask(request(SILENT, 1), request(PASSES, 2))
    rig.reply(answer(2))
    assert rig.got == answer(2)


async def test_an_answer_to_another_request_closes_the_connection(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.ask(request(PASSES, 1))
    rig.reply(answer(2))
    assert rig.client.closed
    assert rig.upstreams.transport.closed
    assert closings(caplog) == [
        "closed the connection of 10.0.0.9:4711: the broker answered request 2 where 1 was expected"
    ]


async def test_an_answer_without_request_closes_the_connection(rig: Rig) -> None:
    rig.reply(answer(1))
    assert rig.client.closed


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes, where 104857600 are allowed"),
        (frame(b"1234567"), "a request of 7 bytes"),
        (request(REFUSED, 1), "not served"),
        (pack(">i", -2), "a frame of -2 bytes, where 104857600 are allowed"),
    ],
)
async def test_an_invalid_request_closes_the_connection_with_one_log_line(
    rig: Rig, caplog: pytest.LogCaptureFixture, sent: bytes, reason: str
) -> None:
    rig.ask(sent)
    rig.ask(sent)
    assert rig.client.closed
    assert rig.upstreams.transport.closed
    assert closings(caplog) == [f"closed the connection of 10.0.0.9:4711: {reason}"]


async def test_large_requests_before_authentication_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    rig = await Rig(authenticates=True).connected()
    rig.ask(request(PASSES, 1, bytes(LARGEST_TOKEN))[:100])
    assert rig.client.closed
    assert "are allowed before authentication" in closings(caplog)[0]


@pytest.mark.parametrize(("authenticates", "principal"), [(False, ANONYMOUS), (True, UNKNOWN)])
async def test_the_principal_is_unknown_before_authentication(authenticates: bool, principal: str) -> None:
    seen: list[str] = []

    def look(incoming: IncomingRequest, client: RelayedClient) -> Exchange:
        seen.append(client.caller.principal)
        return Exchange()

    rig = await Rig(authenticates=authenticates).connected()
    rig.relay._interceptors = {PASSES: look}
    rig.ask(request(PASSES, 1))
    assert seen == [principal]


async def test_requests_may_be_large_without_authentication(rig: Rig) -> None:
    rig.ask(request(PASSES, 1, bytes(LARGEST_TOKEN))[:100])
    assert not rig.client.closed


async def test_the_broker_is_not_read_while_the_client_does_not_read(rig: Rig) -> None:
    rig.relay.pause_writing()
    assert rig.upstreams.transport.flow == ["paused"]
    rig.relay.resume_writing()
    assert rig.upstreams.transport.flow == ["paused", "resumed"]


async def test_the_client_is_not_read_while_the_broker_does_not_read(rig: Rig) -> None:
    assert rig.upstreams.upstream is not None
    rig.upstreams.upstream.pause_writing()
    assert rig.client.flow == ["paused"]
    rig.upstreams.upstream.resume_writing()
    assert rig.client.flow == ["paused", "resumed"]


async def test_reading_stops_while_too_many_answers_are_expected() -> None:
    rig = await Rig(ConnectionLimits(pipelined=2)).connected()
    rig.ask(*(request(PASSES, number) for number in range(3)))
    assert rig.client.flow == ["paused"]
    rig.reply(answer(0))
    assert rig.client.flow == ["paused", "resumed"]


async def test_reading_stops_while_too_much_is_kept_for_answers() -> None:
    rig = await Rig(ConnectionLimits(pipelined_bytes=100)).connected()
    rig.later.set_result(answer(1))
    rig.ask(request(LATER, 1, bytes(100)))
    assert rig.client.flow == []
    rig.ask(request(CHANGED, 2, bytes(100)))
    assert rig.client.flow.pop() == "paused"
    rig.reply(answer(1), answer(2))
    await settle()
    assert rig.client.flow == ["resumed"]


async def test_a_lost_broker_closes_the_client_after_received_answers(rig: Rig) -> None:
    rig.ask(request(PASSES, 1), request(PASSES, 2))
    rig.reply(answer(1))
    rig.relay.upstream_lost()
    assert rig.got == answer(1)
    assert rig.client.closed
    assert not rig.client.aborted


async def test_an_answer_in_progress_is_dropped_when_the_broker_is_lost(rig: Rig) -> None:
    rig.ask(request(LATER, 1))
    rig.reply(answer(1))
    rig.relay.upstream_lost()
    await settle()
    assert rig.later.cancelled()
    assert rig.got == b""
    assert rig.client.closed


async def test_a_lost_client_closes_the_broker_connection_after_its_requests(rig: Rig) -> None:
    rig.ask(request(SILENT, 1))
    rig.relay.connection_lost(None)
    assert rig.sent == request(SILENT, 1)
    assert rig.upstreams.transport.closed
    assert not rig.upstreams.transport.aborted


async def test_an_answer_in_progress_is_given_up_when_the_client_is_lost(rig: Rig) -> None:
    rig.ask(request(LATER, 1))
    rig.reply(answer(1))
    rig.relay.connection_lost(None)
    await settle()
    assert rig.later.cancelled()


async def test_a_connection_is_counted_until_both_ends_are_closed(rig: Rig) -> None:
    rig.relay.connection_lost(None)
    assert rig.host.gone == []
    rig.relay.upstream_lost()
    assert rig.host.gone == [rig.relay]


async def test_ends_that_do_not_close_are_overdue(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.relay.connection_lost(None)
    now = asyncio.get_running_loop().time()
    assert rig.relay.overdue(now + 29) is None
    assert rig.relay.overdue(now + 31) == "pending data was not read within 30 s"
    rig.relay.abort("late")
    assert rig.upstreams.transport.aborted


async def test_buffered_bytes_are_reported(rig: Rig) -> None:
    rig.ask(request(HELD, 1, bytes(40_000))[:30_000])
    assert rig.host.buffered == {rig.relay: 30_000}
    rig.upstreams.transport.unread = 5_000
    rig.client.unread = 7_000
    rig.relay.pause_writing()
    assert rig.host.buffered == {rig.relay: 42_000}


async def test_a_request_counts_as_held_until_its_answer_has_left(rig: Rig) -> None:
    rig.ask(request(KEPT, 1, bytes(40_000)))
    assert rig.host.buffered == {rig.relay: 40_008}
    rig.reply(answer(1))
    rig.relay.pause_writing()
    assert rig.host.buffered == {rig.relay: 40_008}
    rig.later.set_result(b"<ours>")
    await settle()
    assert rig.host.buffered == {rig.relay: 0}


async def test_few_buffered_bytes_are_not_reported(rig: Rig) -> None:
    rig.ask(request(HELD, 1, bytes(1000))[:500])
    assert rig.host.buffered == {}


@pytest.mark.parametrize("failure", [DecodeError("cut short"), RuntimeError("bug")])
async def test_a_failed_answer_closes_the_connection_with_one_line(
    rig: Rig, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    rig.ask(request(LATER, 1))
    rig.reply(answer(1))
    rig.later.set_exception(failure)
    await settle()
    assert rig.client.closed
    assert len(closings(caplog)) == 1


@pytest.mark.parametrize(
    "give_up", [lambda later: later.set_exception(DriverStoppedError()), asyncio.Future.cancel]
)
async def test_a_cancelled_answer_closes_the_connection_without_log_line(
    rig: Rig, caplog: pytest.LogCaptureFixture, give_up: Callable[[asyncio.Future[bytes]], object]
) -> None:
    rig.ask(request(LATER, 1))
    rig.reply(answer(1))
    give_up(rig.later)
    await settle()
    assert rig.client.closed
    assert closings(caplog) == []


def broken(incoming: IncomingRequest, client: RelayedClient) -> Exchange:
    raise RuntimeError("bug")


async def test_an_internal_error_closes_the_connection(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.relay._interceptors = {PASSES: broken}
    rig.ask(request(PASSES, 1))
    assert rig.client.closed
    assert closings(caplog) == ["the connection of 10.0.0.9:4711 failed"]


async def test_an_idle_connection_is_overdue() -> None:
    rig = await Rig(ConnectionLimits(idle=5)).connected()
    now = asyncio.get_running_loop().time()
    assert rig.relay.overdue(now + 4) is None
    assert rig.relay.overdue(now + 6) == "idle for 5 s"


async def test_a_held_request_that_never_completes_is_overdue() -> None:
    rig = await Rig(ConnectionLimits(frame=3)).connected()
    rig.ask(request(HELD, 1, b"body")[:-1])
    now = asyncio.get_running_loop().time()
    assert rig.relay.overdue(now + 2) is None
    assert rig.relay.overdue(now + 4) == "a request was not complete after 3 s"


async def test_the_frame_timeout_starts_when_the_broker_is_connected() -> None:
    rig = Rig(ConnectionLimits(frame=3))
    rig.ask(request(HELD, 1, b"body")[:-1])
    await rig.connected()
    now = asyncio.get_running_loop().time()
    assert rig.relay.overdue(now + 2) is None
    assert rig.relay.overdue(now + 4) == "a request was not complete after 3 s"


async def test_a_passing_request_has_no_frame_timeout() -> None:
    rig = await Rig(ConnectionLimits(frame=3)).connected()
    rig.ask(request(PASSES, 1, b"body")[:-1])
    assert rig.relay.overdue(asyncio.get_running_loop().time() + 4) is None


async def test_a_client_that_waits_for_an_answer_in_progress_is_not_overdue() -> None:
    rig = await Rig(ConnectionLimits(idle=5)).connected()
    rig.ask(request(LATER, 1))
    rig.reply(answer(1))
    assert rig.relay.overdue(asyncio.get_running_loop().time() + 100) is None


async def test_a_connection_can_be_aborted(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.relay.abort("idle")
    rig.relay.abort("idle")
    assert rig.client.aborted
    assert closings(caplog) == ["closed the connection of 10.0.0.9:4711: idle"]


async def test_passing_requests_and_answers_are_counted(rig: Rig) -> None:
    rig.ask(request(PASSES, 1, b"1234"))
    rig.reply(answer(1, b"12"))
    counts = rig.counts
    assert (counts.requests[PASSES], counts.bytes_in[PASSES], counts.bytes_out[PASSES]) == (1, 16, 10)
