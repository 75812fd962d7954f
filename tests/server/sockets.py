"""A server on real sockets with all handlers and an empty cluster of one broker."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain, repeat
from typing import Any, cast

from common.off_loop import WorkerThread
from protocol.frames import RequestFrame
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Session
from server.counters import Counters
from server.dispatch.context import Caller
from server.dispatch.router import Router
from server.handlers import load
from tests.builders import InMemoryController, partition
from tests.server.fakes import FakeBroker, FakeClient, services

PROMPT = 30.0
"""Timeout of an answer, in seconds."""


class Served:
    """A running server, and connections to it."""

    def __init__(self, limits: ConnectionLimits, tls: ssl.SSLContext | None = None) -> None:
        self.stats = Counters()
        self.controller = InMemoryController((1,)).with_partitions(partition("foo-0", [1]))
        self.shared = services(self.controller.state)
        self.router = Router(self.shared, self.stats, load())
        self.listeners = Listeners(
            partial(Session, self.answer, limits), ConnectionRegistry(limits, self.stats), tls
        )
        self.host, self.port = "", 0
        self.held: asyncio.Event | None = None
        """If set, answers wait for this event."""
        self.holding = 0
        """Number of requests whose answers wait."""

    def answer(self, frame: RequestFrame, caller: Caller) -> Any:
        if self.held is None:
            return self.router.answer(frame, caller)
        return self._later(self.held, frame, caller)

    async def _later(self, held: asyncio.Event, frame: RequestFrame, caller: Caller) -> Any:
        self.holding += 1
        await held.wait()
        return self.router.answer(frame, caller)

    async def connect(self) -> "Talk":
        return Talk(*await asyncio.open_connection(self.host, self.port))


class Talk:
    """A client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.client = FakeClient()

    async def ask(self, request: Any, version: int) -> Any:
        """Send the request; return the answer."""
        self.writer.write(self.client.ask(request, version))
        return await self.answer()

    async def answer(self) -> Any:
        size = await self.receive(4)
        return self.client.read(size + await self.receive(int.from_bytes(size, "big")))[0]

    async def receive(self, size: int) -> bytes:
        return await asyncio.wait_for(self.reader.readexactly(size), PROMPT)

    async def ended(self) -> bool:
        """Whether the server closes the connection without another byte."""
        try:
            return await asyncio.wait_for(self.reader.read(), PROMPT) == b""
        except ConnectionResetError:
            return True

    async def close(self) -> None:
        self.writer.close()
        await self._gone()

    async def abort(self) -> None:
        """Abort the connection without a TLS or TCP shutdown, as a crashed client does."""
        self.writer.transport.abort()
        await self._gone()

    async def _gone(self) -> None:
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


async def until(condition: Callable[[], bool]) -> None:
    """Wait until other tasks have made the condition true."""
    async with asyncio.timeout(PROMPT):
        for pause in chain([0.0] * 10, repeat(0.01)):
            if condition():
                return
            await asyncio.sleep(pause)


@asynccontextmanager
async def serving(
    limits: ConnectionLimits | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    """Run a server for the duration of the block."""
    served = Served(limits or ConnectionLimits(), tls)
    served.host, served.port = await served.listeners.open(FakeBroker(1), "127.0.0.1", 0)
    try:
        yield served
    finally:
        await served.listeners.close_all(0)
        cast(WorkerThread, served.shared.off_loop).close()
