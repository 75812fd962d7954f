"""The peer listener, and what is not a peer."""

import asyncio
import logging
import time
from contextlib import suppress

import pytest

from common.address import Address
from common.clock import ManualClock, settle
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.dispatch.context import Caller
from server.instances import listener as module
from server.instances.links import PING_SECONDS, SILENCE_SECONDS
from server.instances.listener import InstanceEndpoint
from server.instances.messages import Kind, NotActiveError, encode_forwarded
from server.instances.stream import Message, connect
from tests.server.fakes import FakeBroker
from tests.server.instances.doubles import LIST, FakeNetwork, Instance, frame_of
from tests.server.instances.sockets import Echo, linked, listening, security
from tests.server.instances.test_links import Hanging, request

ORDER = encode_forwarded(request().frame, Caller(FakeBroker(1), "User:alice", "10.0.0.9:4711"))


async def raw(address: Address, data: bytes) -> bytes:
    """Send bytes, and return what the listener sends until it closes the connection."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x04junk", b"\0\0\0\0", b"\x16\x03\x01\x02\0"]
)
async def test_garbage_closes_the_connection_with_one_line(
    garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(Echo()) as address:
        assert b"not the handshake of a peer" in await raw(address, garbage)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "not the handshake of a peer" in record.getMessage()


async def test_repeated_garbage_is_summarized(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Echo()) as address:
        for _ in range(5):
            await raw(address, b"GET / HTTP/1.1\r\n\r\n")
    assert len(caplog.records) == 1


async def test_garbage_after_the_handshake_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Echo()) as address:
        for kind in (99, Kind.ANSWER):
            stream = await connect(address, security("standby"), 1000)
            await stream.send(Message(kind, 1, b""))
            with pytest.raises(ConnectionResetError):
                await stream.receive()
            stream.close()
    assert "a message of kind 99" in caplog.text


async def test_a_request_that_cannot_be_read_is_refused_and_others_go_on() -> None:
    async with listening(Echo()) as address:
        stream = await connect(address, security("standby"), 1000)
        await stream.send(Message(Kind.REQUEST, 1, b"junk"))
        assert await stream.receive() == (Kind.REFUSED, 1, b"a forwarded request without a header")
        await stream.send(Message(Kind.PING, 0, b""))
        assert (await stream.receive()).kind == Kind.PONG
        stream.close()


async def test_an_unexpected_error_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Echo(error=KeyError("secret"))) as address, linked() as links:
        with pytest.raises(Exception, match="the active instance could not answer it"):
            await links.forward(address, request())
    assert "a forwarded request could not be answered" in caplog.text


async def test_a_request_after_a_silence_is_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client may have given it up, and have sent another one to another instance."""
    assert 3 * PING_SECONDS < module.IDLE_SECONDS <= SILENCE_SECONDS
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.05)
    echo = Echo()
    async with listening(echo) as address:
        stream = await connect(address, security("standby"), 1000)
        with pytest.raises(ConnectionResetError):
            await stream.receive()
        with suppress(OSError):
            await stream.send(Message(Kind.REQUEST, 1, ORDER))
        stream.close()
    assert echo.asked == []


async def test_a_process_that_was_suspended_does_not_execute_what_has_arrived_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.5)
    echo = Echo()
    async with listening(echo) as address:
        stream = await connect(address, security("standby"), 1000)
        await stream.send(Message(Kind.PING, 0, b""))
        assert (await stream.receive()).kind == Kind.PONG
        await stream.send(Message(Kind.REQUEST, 1, ORDER))
        time.sleep(1)  # noqa: ASYNC251 - the event loop of the listener is suspended
        with pytest.raises(ConnectionResetError):
            await stream.receive()
        stream.close()
    assert echo.asked == []


async def test_a_request_can_be_given_up_while_it_is_on_its_way() -> None:
    hanging = Hanging()
    async with listening(hanging) as active:
        stream = await connect(active, security("standby"), 1000)
        await stream.send(Message(Kind.REQUEST, 7, ORDER))
        await stream.send(Message(Kind.GIVE_UP, 7, b""))
        assert await hanging.given_up == ("standby", 7)
        assert hanging.asked.is_set()
        hanging.go_on.set()
        stream.close()


async def test_too_many_requests_are_to_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IN_FLIGHT", 1)
    hanging = Hanging()
    async with listening(hanging) as address, linked() as links:
        first = asyncio.create_task(links.forward(address, request(1)))
        await hanging.asked.wait()
        with pytest.raises(NotActiveError):
            await links.forward(address, request(2))
        hanging.go_on.set()
        assert await first == b"late"


async def test_connections_are_limited(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 1)
    async with listening(Echo()) as address, linked() as links:
        await links.forward(address, request())
        assert await raw(address, b"") == b""
    assert "1 connections of instances are open already" in caplog.text


async def test_connections_without_a_handshake_do_not_keep_peers_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 2)
    async with listening(Echo()) as address, linked() as links:
        silent = [await asyncio.open_connection(*address) for _ in range(3)]
        assert await links.forward(address, request()) == b"answer to body"
        for _, writer in silent:
            writer.close()
    assert "it did not prove itself before others connected" in caplog.text


async def test_the_bytes_of_requests_in_progress_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_REQUESTS", 1_000)
    hanging = Hanging()
    async with listening(hanging) as address, linked() as links:
        first = asyncio.create_task(links.forward(address, request(1, bytes(700))))
        await hanging.asked.wait()
        with pytest.raises(NotActiveError):
            await links.forward(address, request(2, bytes(700)))
        hanging.go_on.set()
        assert await first == b"late"


async def test_answers_in_progress_are_lost_when_the_listener_closes() -> None:
    hanging = Hanging()
    async with linked() as links:
        async with listening(hanging) as address:
            asked = asyncio.create_task(links.forward(address, request()))
            await hanging.asked.wait()
        with pytest.raises(ConnectionResetError):
            await asked


FRAME = frame_of(LIST)
CALLER = Caller(FakeBroker(2), "User:alice", "10.0.0.9:4711", via="standby")


@pytest.fixture
def active() -> Instance:
    instance = Instance(FakeNetwork(), ManualClock(), 9301)
    instance.own.make = lambda _: ListPartitionReassignmentsResponse(error_message="first")
    instance.lead()
    return instance


async def test_a_request_is_answered_for_its_client(active: Instance) -> None:
    assert b"first" in await InstanceEndpoint(active.switch).answer("standby", 1, FRAME, CALLER)
    (caller,) = active.own.callers
    assert caller == CALLER


async def test_a_request_that_is_forwarded_again_gets_the_first_answer(active: Instance) -> None:
    endpoint = InstanceEndpoint(active.switch)
    first = await endpoint.answer("standby", 1, FRAME, CALLER)
    assert await endpoint.answer("standby", 1, FRAME, CALLER) == first
    assert len(active.own.answered) == 1
    await endpoint.answer("standby", 2, FRAME, CALLER)
    await endpoint.answer("another standby", 1, FRAME, CALLER)
    assert len(active.own.answered) == 3


async def test_a_request_goes_on_when_its_connection_is_lost(active: Instance) -> None:
    endpoint = InstanceEndpoint(active.switch)
    active.lease.valid = False
    lost = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CALLER))
    await settle()
    lost.cancel()
    again = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CALLER))
    await settle()
    active.lease.valid = True
    await active.clock.advance(1)
    assert b"first" in await again
    assert len(active.own.answered) == 1


async def test_a_request_that_is_given_up_is_not_executed(active: Instance) -> None:
    endpoint = InstanceEndpoint(active.switch)
    asked = asyncio.create_task(endpoint.answer("standby", 1, FRAME, CALLER))
    await asyncio.sleep(0)
    endpoint.give_up("standby", 1)
    endpoint.give_up("standby", 2)
    await settle()
    assert asked.cancelled()
    assert active.own.answered == []


async def test_giving_up_an_executed_request_changes_nothing(active: Instance) -> None:
    endpoint = InstanceEndpoint(active.switch)
    first = await endpoint.answer("standby", 1, FRAME, CALLER)
    endpoint.give_up("standby", 1)
    assert await endpoint.answer("standby", 1, FRAME, CALLER) == first
    assert len(active.own.answered) == 1


async def test_a_request_that_was_not_executed_can_be_sent_again(active: Instance) -> None:
    endpoint = InstanceEndpoint(active.switch)
    active.switch.nobody()
    with pytest.raises(NotActiveError):
        await endpoint.answer("standby", 1, FRAME, CALLER)
    active.lead()
    assert b"first" in await endpoint.answer("standby", 1, FRAME, CALLER)


async def test_few_and_small_answers_are_kept(active: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    endpoint = InstanceEndpoint(active.switch)
    for number in range(10):
        await endpoint.answer("standby", number, FRAME, CALLER)
    assert len(endpoint._answers) == 2
    monkeypatch.setattr(module, "LARGEST_KEPT", 1)
    await endpoint.answer("standby", 11, FRAME, CALLER)
    assert len(endpoint._answers) == 2
