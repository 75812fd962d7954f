"""The parts of uvicorn that its adapter uses. An incompatible version of uvicorn fails here."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn import Config, Server

from server.http.uvicorn_adapter import PEER_FILTER, UvicornProtocols, current_peer

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


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
    protocol = protocols.make({"name": "state of the connection"})
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
        await asyncio.sleep(0.2)
        assert not transport.closed.is_set()
        application.release.set()
        await transport.closed.wait()
        protocol.connection_lost(None)
        await stopping
    assert transport.written.endswith(b"state of the connection")


async def test_garbage_is_logged_with_the_client_s_address(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(Application()) as (_, protocol, transport):
        current_peer.set("client:1")
        protocol.data_received(b"\x00garbage\r\n\r\n")
        assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert caplog.messages == ["Invalid HTTP request received (from client:1)"]


def test_log_lines_without_a_client_stay_as_they_are() -> None:
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, "A message.", None, None)
    assert PEER_FILTER.filter(record)
    assert record.msg == "A message."
