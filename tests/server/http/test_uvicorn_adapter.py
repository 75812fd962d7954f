"""The parts of uvicorn that its adapter uses. An incompatible version of uvicorn fails here."""

import asyncio
import inspect
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn import Config, Server

from common.clock import settle
from server.http.uvicorn_adapter import PEER_FILTER, REFUSE, UvicornProtocols, has_next_request

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
UNFINISHED = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"

REFUSED: list[str] = []
"""Reasons that the protocol has reported."""


class Transport(asyncio.Transport):
    """A transport that records the written data."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written, self.closed = b"", asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def close(self) -> None:
        self.closed.set()

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Application:
    """An ASGI application that answers with the connection's state once `release` is set."""

    def __init__(self) -> None:
        self.requests = asyncio.Semaphore(0)
        self.release = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests.release()
        await self.release.wait()
        await PlainTextResponse(scope["state"]["name"])(scope, receive, send)


@asynccontextmanager
async def connected(
    application: Application,
) -> AsyncIterator[tuple[UvicornProtocols, asyncio.Protocol, Transport]]:
    protocols, transport = UvicornProtocols(application), Transport()
    await protocols.start()
    REFUSED.clear()
    protocol = protocols.make({"name": "state of the connection", REFUSE: REFUSED.append})
    protocol.connection_made(transport)
    yield protocols, protocol, transport
    protocol.connection_lost(None)
    await protocols.stop()


def test_the_undocumented_parts_exist() -> None:
    config = Config(Application.__call__, http="h11", log_config=None)
    config.load()
    parameters = inspect.signature(config.http_protocol_class).parameters
    assert {"config", "server_state", "app_state"} <= parameters.keys()
    assert {"connections", "tasks"} <= vars(Server(config).server_state).keys()
    assert list(inspect.signature(Server.startup).parameters) == ["self", "sockets"]
    assert list(inspect.signature(Server.capture_signals).parameters) == ["self"]


async def test_a_request_is_answered_with_the_state_of_its_connection() -> None:
    application = Application()
    application.release.set()
    async with connected(application) as (_, protocol, transport):
        protocol.data_received(REQUEST)
        while not transport.written.endswith(b"state of the connection"):
            await asyncio.sleep(0)
    assert transport.written.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_bytes_after_a_request_are_told() -> None:
    async with connected(Application()) as (_, protocol, _):
        protocol.data_received(REQUEST)
        assert not has_next_request(protocol)
        protocol.data_received(REQUEST[:1])
        assert has_next_request(protocol)


async def test_a_stop_closes_idle_connections() -> None:
    async with connected(Application()) as (protocols, protocol, transport):
        stopping = asyncio.create_task(protocols.stop())
        await transport.closed.wait()
        protocol.connection_lost(None)
        await stopping


async def test_a_stop_waits_for_a_response_in_progress() -> None:
    application = Application()
    async with connected(application) as (protocols, protocol, transport):
        protocol.data_received(REQUEST)
        await application.requests.acquire()
        stopping = asyncio.create_task(protocols.stop())
        await settle()
        assert not transport.closed.is_set()
        application.release.set()
        await transport.closed.wait()
        protocol.connection_lost(None)
        await stopping
    assert transport.written.endswith(b"state of the connection")


@pytest.mark.parametrize(
    ("data", "head", "reason"),
    [
        (b"\x00garbage\r\n\r\n", b"HTTP/1.1 400 Bad Request\r\n", "illegal request line"),
        (b"GET / HTTP/1.1\r\nUp grade: x\r\n\r\n", b"HTTP/1.1 400 Bad Request\r\n", "illegal header line"),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 Bad Request\r\n", "Missing mandatory Host: header"),
        (
            b"GET /" + b"x" * 20_000,
            b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
            "Receive buffer too long",
        ),
    ],
)
async def test_bytes_that_are_not_http_are_refused_in_one_line_of_json(
    data: bytes, head: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(Application()) as (_, protocol, transport):
        protocol.data_received(data)
        _, _, body = transport.written.partition(b"\r\n\r\n")
        assert transport.written.startswith(head)
        assert json.loads(body) == {"error": f"not an HTTP/1.1 request: {reason}"}
        assert transport.is_closing()
    assert (REFUSED, caplog.messages) == ([reason], [])


async def test_garbage_after_the_beginning_of_a_response_only_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    application = Application()
    application.release.set()
    async with connected(application) as (_, protocol, transport):
        protocol.data_received(UNFINISHED)
        while not transport.written.endswith(b"state of the connection"):
            await asyncio.sleep(0)
        answered = transport.written
        protocol.data_received(b"no chunk\r\n")
        await transport.closed.wait()
    assert transport.written.startswith(answered)
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c", b"\x80\xff", b"/"])
async def test_an_upgrade_header_is_ignored(upgrade: bytes, caplog: pytest.LogCaptureFixture) -> None:
    application = Application()
    application.release.set()
    async with connected(application) as (_, protocol, transport):
        protocol.data_received(REQUEST[:-2] + b"connection: upgrade\r\nupgrade: " + upgrade + b"\r\n\r\n")
        while not transport.written.endswith(b"state of the connection"):
            await asyncio.sleep(0)
    assert caplog.messages == []


def test_log_lines_without_a_client_stay_as_they_are() -> None:
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, "A message.", None, None)
    assert PEER_FILTER.filter(record)
    assert record.msg == "A message."
