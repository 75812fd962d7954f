"""A session over a fake transport: order, bounds, back-pressure and the end of the connection."""

import asyncio
import logging
from collections.abc import Awaitable
from struct import pack

import pytest

from protocol.codec.errors import DecodeError
from protocol.frames import RequestFrame, encode_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import FindCoordinatorResponse
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from server.connections.client_connection import ConnectionLimits
from server.connections.session import Session
from server.dispatch.context import Caller
from server.driver.driver import DriverStoppedError
from server.security.login import OPEN, Gate, LoginRules
from server.security.mechanisms import PlainExchange
from server.security.subjects import parse_rules
from tests.server.fakes import FakeBroker, FakeClient, FakeHost, FakeTransport
from tests.server.security.certificates import FakeTls, certificate

BAD_LENGTH = pack(">i", -5)


class Rig:
    """A session that answers requests with their own key; answers to keys in "later" wait for a release."""

    def __init__(self, limits: ConnectionLimits | None = None, gate: Gate = OPEN) -> None:
        self.client = FakeClient()
        self.transport = FakeTransport()
        self.begun: list[str] = []
        self.later: dict[str, asyncio.Future[bytes]] = {}
        self.host = FakeHost()
        self.loop = asyncio.get_running_loop()
        self.session = Session(self.answer, limits or ConnectionLimits(), FakeBroker(), self.host, gate)
        self.session.connection_made(self.transport)

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        self.caller = caller
        if not frame.known:
            raise DecodeError("unknown")
        key = bytes(frame.body[2:]).decode()
        self.begun.append(key)
        if key.startswith("later"):
            self.later[key] = self.loop.create_future()
            return self._after(self.later[key], frame, key)
        return self._echo(frame, key)

    async def _after(self, released: asyncio.Future[bytes], frame: RequestFrame, key: str) -> bytes:
        await released
        return self._echo(frame, key)

    def _echo(self, frame: RequestFrame, key: str) -> bytes:
        return encode_response(frame, FindCoordinatorResponse(host=key))

    def ask(self, *keys: str) -> bytes:
        return b"".join(self.client.ask(FindCoordinatorRequest(key), 0) for key in keys)

    def receive(self, *keys: str) -> None:
        self.session.data_received(self.ask(*keys))

    @property
    def answers(self) -> list[str]:
        writes, self.transport.writes = self.transport.writes, []
        return [response.host for response in self.client.read(writes)]


@pytest.fixture
async def rig() -> Rig:
    return Rig()


def closings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_requests_of_one_read_are_answered_in_one_write(rig: Rig) -> None:
    rig.receive("a", "b", "c")
    assert len(rig.transport.writes) == 1
    assert rig.answers == ["a", "b", "c"]


async def test_a_request_in_pieces_is_answered_when_it_is_complete(rig: Rig) -> None:
    for byte in rig.ask("a"):
        assert rig.transport.writes == []
        rig.session.data_received(bytes([byte]))
    assert rig.answers == ["a"]


async def test_a_request_that_waits_delays_those_behind_it(rig: Rig) -> None:
    rig.receive("a", "later", "b")
    assert rig.answers == ["a"]
    assert rig.begun == ["a", "later"]
    await settle()
    rig.later["later"].set_result(b"")
    await settle()
    assert rig.answers == ["later", "b"]


async def test_requests_that_arrive_meanwhile_wait_too(rig: Rig) -> None:
    rig.receive("later")
    rig.receive("a")
    await settle()
    rig.later["later"].set_result(b"")
    await settle()
    assert rig.answers == ["later", "a"]


async def test_reading_stops_while_too_many_requests_wait() -> None:
    rig = Rig(ConnectionLimits(pipelined=2))
    rig.receive("later", "a", "b")
    assert rig.transport.flow == []
    rig.receive("c")
    assert rig.transport.flow == ["paused"]
    await settle()
    rig.later["later"].set_result(b"")
    await settle()
    assert rig.transport.flow == ["paused", "resumed"]
    assert rig.answers == ["later", "a", "b", "c"]


async def test_reading_stops_while_too_many_bytes_wait() -> None:
    rig = Rig(ConnectionLimits(pipelined_bytes=100))
    rig.receive("later", "a" * 200)
    assert rig.transport.flow == ["paused"]


async def test_a_client_that_does_not_read_is_not_served(rig: Rig) -> None:
    rig.session.pause_writing()
    rig.receive("a", "b")
    assert rig.begun == []
    rig.session.resume_writing()
    assert rig.answers == ["a", "b"]


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    rig = Rig(ConnectionLimits(pipelined=2))
    rig.session.pause_writing()
    rig.receive("a", "b", "c")
    assert rig.transport.flow == ["paused"]


async def test_a_long_burst_is_answered_in_turns() -> None:
    rig = Rig(ConnectionLimits(burst=2))
    rig.receive("a", "b", "c", "d", "e")
    assert rig.answers == ["a", "b"]
    await settle()
    assert rig.answers == ["c", "d", "e"]


async def test_large_answers_are_written_in_turns() -> None:
    rig = Rig(ConnectionLimits(burst_bytes=50))
    rig.receive("a" * 60, "b")
    assert rig.answers == ["a" * 60]
    await settle()
    assert rig.answers == ["b"]


async def test_good_requests_before_a_bad_frame_are_answered(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.session.data_received(rig.ask("a") + BAD_LENGTH + rig.ask("b"))
    assert rig.answers == ["a"]
    assert rig.transport.closed
    assert closings(caplog) == [
        "closed the connection of 10.0.0.9:4711: a frame of -5 bytes, where 104857600 are allowed"
    ]


async def test_a_waiting_request_before_a_bad_frame_is_answered(rig: Rig) -> None:
    rig.session.data_received(rig.ask("later") + BAD_LENGTH)
    await settle()
    assert not rig.transport.closed
    rig.later["later"].set_result(b"")
    await settle()
    assert rig.answers == ["later"]
    assert rig.transport.closed


async def test_an_unanswerable_request_closes_the_connection_and_drops_the_rest(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    unknown = pack(">ihhi", 8, 999, 0, 1)
    rig.session.data_received(rig.ask("a") + unknown + rig.ask("b"))
    assert rig.answers == ["a"]
    assert rig.begun == ["a"]
    assert closings(caplog) == ["closed the connection of 10.0.0.9:4711: unknown"]


async def test_garbage_closes_the_connection_with_one_log_line(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        rig.session.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert rig.transport.closed
    assert len(closings(caplog)) == 1


@pytest.mark.parametrize("failure", [DecodeError("cut short"), RuntimeError("bug")])
async def test_a_failed_answer_closes_the_connection_with_one_log_line(
    rig: Rig, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    rig.receive("later", "a")
    await settle()
    rig.later["later"].set_exception(failure)
    await settle()
    assert rig.transport.closed
    assert len(closings(caplog)) == 1
    assert rig.begun == ["later"]


async def test_a_stopped_driver_closes_the_connection_without_log_line(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.receive("later")
    await settle()
    rig.later["later"].set_exception(DriverStoppedError())
    await settle()
    assert rig.transport.closed
    assert closings(caplog) == []


async def test_a_lost_connection_cancels_the_answer_in_progress(rig: Rig) -> None:
    rig.receive("later", "a")
    await settle()
    rig.session.connection_lost(None)
    await settle()
    assert rig.later["later"].cancelled()
    assert rig.host.gone == [rig.session]
    assert rig.transport.writes == []


async def test_an_idle_connection_is_overdue() -> None:
    rig = Rig(ConnectionLimits(idle=5))
    now = rig.loop.time()
    assert rig.session.overdue(now + 4) is None
    assert rig.session.overdue(now + 6) == "idle for 5 s"


async def test_a_request_that_never_completes_is_overdue() -> None:
    rig = Rig(ConnectionLimits(frame=3))
    rig.session.data_received(rig.ask("a")[:-1])
    now = rig.loop.time()
    assert rig.session.overdue(now + 2) is None
    assert rig.session.overdue(now + 4) == "a request was not complete after 3 s"


async def test_a_complete_request_restarts_the_frame_timeout(rig: Rig) -> None:
    first, second = rig.ask("a"), rig.ask("b")
    rig.session.data_received(first[:-1])
    rig.session.data_received(first[-1:])
    assert rig.session.overdue(rig.loop.time() + 70) is None
    rig.session.data_received(second[:-1])
    assert rig.session.overdue(rig.loop.time() + 70) is not None


async def test_a_connection_that_is_being_served_is_never_overdue(rig: Rig) -> None:
    rig.receive("later")
    assert rig.session.overdue(rig.loop.time() + 10_000) is None


async def test_nothing_is_written_after_the_connection_ended(rig: Rig) -> None:
    rig.receive("later")
    await settle()
    rig.session.close()
    rig.later["later"].set_result(b"")
    await settle()
    assert rig.transport.writes == []


async def test_requests_after_the_end_are_not_served(rig: Rig) -> None:
    rig.session.close()
    rig.receive("a")
    assert rig.begun == []
    assert rig.transport.writes == []


async def test_an_overdue_connection_is_aborted_even_after_close(rig: Rig) -> None:
    rig.session.close()
    rig.session.abort("idle")
    assert rig.transport.aborted


async def test_the_caller_is_anonymous_and_has_the_peers_address() -> None:
    seen: list[Caller] = []

    def remember(_: RequestFrame, caller: Caller) -> bytes:
        seen.append(caller)
        return b""

    session = Session(remember, ConnectionLimits(), FakeBroker(3), FakeHost())
    session.connection_made(FakeTransport())
    session.data_received(FakeClient().ask(ApiVersionsRequest("a", "1"), 3))
    assert (seen[0].broker.id, seen[0].principal, seen[0].peer) == (3, "User:ANONYMOUS", "10.0.0.9:4711")


async def test_an_incomplete_request_counts_as_buffered_bytes(rig: Rig) -> None:
    rig.session.data_received(rig.ask("x" * 30_000)[:20_000])
    assert rig.host.buffered == {rig.session: 20_000}


async def test_unread_answers_count_as_buffered_bytes(rig: Rig) -> None:
    rig.transport.unread = 4_000_000
    rig.session.pause_writing()
    assert rig.host.buffered == {rig.session: 4_000_000}
    rig.transport.unread = 0
    rig.session.resume_writing()
    assert rig.host.buffered == {rig.session: 0}


async def test_requests_that_wait_behind_an_answer_count_as_buffered_bytes(rig: Rig) -> None:
    rig.receive("later", "x" * 30_000)
    assert rig.host.buffered[rig.session] > 30_000
    rig.later["later"].set_result(b"")
    await settle()
    assert len(rig.answers) == 2
    rig.receive("a")
    assert rig.host.buffered == {rig.session: 0}


async def test_a_closed_connection_with_unread_answers_is_overdue() -> None:
    rig = Rig(ConnectionLimits(leave=5))
    rig.session.close("enough")
    now = rig.loop.time()
    assert rig.session.overdue(now + 4) is None
    assert rig.session.overdue(now + 6) == "its client did not read the pending answers within 5 s"


@pytest.mark.filterwarnings("error")
async def test_a_client_that_disconnects_at_once_leaves_no_coroutine_unawaited(rig: Rig) -> None:
    awaited: list[str] = []

    async def inner() -> bytes:
        awaited.append("inner")
        never: asyncio.Future[bytes] = rig.loop.create_future()
        return await never

    async def outer(made: Awaitable[bytes]) -> bytes:
        return await made

    rig.session._answer = lambda _frame, _caller: outer(inner())
    rig.receive("a")
    rig.session.connection_lost(None)
    await settle()
    assert awaited == ["inner"]
    assert rig.session.pending is None


LOGIN = Gate(login=LoginRules({"PLAIN": lambda: PlainExchange(lambda: {"anna": "secret"})}, lambda: 0))


async def logging_in(password: str, version: int = 1) -> Rig:
    """Return a session after a handshake and a token with the password."""
    rig = Rig(ConnectionLimits(login_frame=200), LOGIN)
    rig.session.data_received(rig.client.ask(SaslHandshakeRequest("PLAIN"), version))
    token = f"\0anna\0{password}".encode()
    framed = rig.client.ask(SaslAuthenticateRequest(token), 2)
    rig.session.data_received(framed if version else pack(">i", len(token)) + token)
    return rig


async def test_after_a_login_requests_have_the_principal() -> None:
    rig = await logging_in("secret")
    rig.receive("a")
    assert rig.caller.principal == "User:anna"
    assert len(rig.transport.writes) == 3


async def test_a_login_with_tokens_without_headers_is_followed_by_requests() -> None:
    rig = await logging_in("secret", version=0)
    rig.receive("a")
    assert rig.caller.principal == "User:anna"
    assert rig.transport.writes[1] == bytes(4)


async def test_a_failed_login_is_answered_and_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    rig = await logging_in("wrong")
    assert b"Authentication failed: Invalid username or password" in rig.transport.writes[1]
    assert rig.transport.closed
    assert rig.begun == []
    assert closings(caplog) == [
        "closed the connection of 10.0.0.9:4711: Authentication failed: Invalid username or password"
    ]


async def test_a_request_before_the_login_closes_the_connection() -> None:
    rig = Rig(gate=LOGIN)
    rig.receive("a")
    assert rig.transport.closed
    assert rig.begun == []


async def test_requests_before_a_login_are_small() -> None:
    rig = Rig(ConnectionLimits(login_frame=200), LOGIN)
    rig.receive("x" * 300)
    assert rig.transport.closed
    later = await logging_in("secret")
    later.receive("x" * 300)
    assert len(later.begun) == 1


@pytest.mark.parametrize("shown", [certificate("CN=ann"), b"unreadable"])
async def test_a_certificate_without_a_name_is_not_served(shown: bytes) -> None:
    rig = Rig()
    session = Session(
        rig.answer, ConnectionLimits(), FakeBroker(), rig.host, Gate(mapping=parse_rules("RULE:x/y/"))
    )
    transport = FakeTransport()
    asyncio.BaseTransport.__init__(transport, {"ssl_object": FakeTls(shown)})
    session.connection_made(transport)
    assert transport.closed
    session.data_received(rig.ask("a"))
    assert rig.begun == []
