"""A connection to a broker, opened when needed and again after its end or before its SASL session expires."""

import asyncio
from collections.abc import Awaitable, Callable

from backends.client.connection import BrokerConnection
from backends.client.errors import InDoubtError, NotSentError, UnreachableError
from common.clock import Clock
from protocol.schema import Request, Response

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between attempts to connect: doubled from FIRST_PAUSE up to LONGEST_PAUSE."""

RENEW_FRACTION = 0.8
"""Fraction of the SASL session's lifetime after which a new connection is opened (KIP-368)."""


CLOSED = "reassignd closed the connection"


class Link:
    """Sends requests to one broker on one connection at a time."""

    def __init__(self, connect: Callable[[], Awaitable[BrokerConnection]], clock: Clock) -> None:
        self.healthy = True
        """The last request was answered."""
        self._connect = connect
        self._clock = clock
        self._connections: list[BrokerConnection] = []
        """The last one is in use; the others wait for their last responses."""
        self._renew_at = float("inf")
        self._opening = asyncio.Lock()
        self._failure: NotSentError | None = None
        self._pause = 0.0
        self._retry_at = 0.0
        self._closed = False

    async def ask(
        self, request: Request[Response], timeout_seconds: float, version: int | None = None
    ) -> Response:
        """See `BrokerConnection.ask`.

        During the pause after a failed attempt to connect, its error is raised again.
        """
        try:
            connection = await self._usable()
            answer = await connection.ask(request, timeout_seconds, version)
        except (UnreachableError, InDoubtError):
            self.healthy = False
            raise
        self.healthy = True
        return answer

    def retire(self) -> None:
        """Let requests in flight end; the next request opens a new connection."""
        for connection in self._connections:
            connection.retire()

    @property
    def ended(self) -> bool:
        """No connection is open or being opened."""
        return not self._opening.locked() and all(
            connection.ended.is_set() for connection in self._connections
        )

    async def close(self) -> None:
        """Close all connections at once."""
        self._closed = True
        for connection in self._connections:
            connection.abort(CLOSED)
            await connection.ended.wait()

    async def _usable(self) -> BrokerConnection:
        async with self._opening:
            if self._connections and self._connections[-1].usable and self._clock.now() < self._renew_at:
                return self._connections[-1]
            if self._failure is not None and self._clock.now() < self._retry_at:
                raise type(self._failure)(str(self._failure)) from self._failure
            return await self._open()

    async def _open(self) -> BrokerConnection:
        try:
            opened = await self._connect()
        except NotSentError as error:
            self._pause = min(max(FIRST_PAUSE, 2 * self._pause), LONGEST_PAUSE)
            self._retry_at = self._clock.now() + self._pause
            self._failure = error
            raise
        if self._closed:
            opened.abort(CLOSED)
            raise UnreachableError(CLOSED)
        self.retire()
        self._connections = [
            connection for connection in self._connections if not connection.ended.is_set()
        ] + [opened]
        self._failure, self._pause = None, 0.0
        lifetime = opened.lifetime_seconds
        self._renew_at = self._clock.now() + RENEW_FRACTION * lifetime if lifetime else float("inf")
        return opened
