"""All HTTP connections: their number is limited; a new one replaces the one that has been silent for the longest time."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from ssl import SSLContext
from typing import Any

from common.clock import Clock
from common.repeated_warnings import RepeatedWarnings
from server.http.connection import BUSY, Bounds, HttpConnection

log = logging.getLogger(__name__)

CHECK_SECONDS = 0.5
"""Time between two checks for overdue connections."""

WARN_SECONDS = 60.0
"""Shortest time between two warnings of too many connections."""

ACCEPTS = 100
"""Connections accepted in one callback of the event loop."""

PAUSE_SECONDS = 0.5
"""Pause after an accept that failed."""

ProtocolFactory = Callable[[dict[str, Any]], asyncio.Protocol]
"""Makes uvicorn's protocol for one connection; the argument is the state that its requests get."""


class HttpConnections:
    """The open connections."""

    def __init__(
        self, make_protocol: ProtocolFactory, bounds: Bounds, tls: SSLContext | None, clock: Clock
    ) -> None:
        self.make_protocol, self.bounds, self.tls, self.clock = make_protocol, bounds, tls, clock
        self._open: dict[HttpConnection, None] = {}
        """In the order of the last data that each has sent, the oldest first."""
        self._warned = -WARN_SECONDS
        self._warnings = RepeatedWarnings(log, clock)
        self._listening: socket.socket | None = None

    def __len__(self) -> int:
        return len(self._open)

    def accept_from(self, listening: socket.socket) -> None:
        """Accept connections until `stop_accepting`."""
        self._listening = listening
        listening.setblocking(False)
        asyncio.get_running_loop().add_reader(listening.fileno(), self._accept)

    def stop_accepting(self) -> None:
        """Close the listening socket, if it is open."""
        listening, self._listening = self._listening, None
        if listening is not None:
            asyncio.get_running_loop().remove_reader(listening.fileno())
            listening.close()

    def _accept(self) -> None:
        # Accept many at once: under load one iteration of the loop may take long, and a probe waits in the same backlog.
        for _ in range(ACCEPTS):
            if self._listening is None:
                return
            try:
                accepted, _address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(self._listening, error)
                return
            self._admit(accepted)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Stop accepting for a while: most likely too many files are open. Connections wait in the backlog."""
        log.warning("cannot accept an HTTP connection: %s", error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if self._listening is not None:
            self.accept_from(self._listening)

    async def close_overdue(self) -> None:
        """Close connections whose client exceeds a time limit, until cancelled."""
        while True:
            await self.clock.sleep(CHECK_SECONDS)
            now = self.clock.now()
            self._warnings.report()
            for connection in list(self._open):
                reason = connection.overdue(now)
                if reason is not None:
                    connection.abort(reason)

    def abort_all(self) -> None:
        """Close all connections at once."""
        for connection in list(self._open):
            connection.abort("the server stops")

    def data_received(self, connection: HttpConnection) -> None:
        """Move the connection to the end of the order in which connections are replaced."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def closed(self, connection: HttpConnection) -> None:
        """Forget the connection. It may be forgotten already."""
        self._open.pop(connection, None)

    def refused(self, peer: str, reason: str) -> None:
        """See `server.http.connection.ConnectionOwner`."""
        self._warnings.closed(peer, reason)

    def _admit(self, accepted: socket.socket) -> None:
        full = len(self._open) >= self.bounds.connections
        if full:
            self._warn()
            silent = next((connection for connection in self._open if connection.waits_for_client), None)
            if silent is not None:
                silent.abort("it made room for another connection")
                full = False
            elif len(self._open) >= self.bounds.connections + self.bounds.reserve:
                _refuse(accepted, encrypted=self.tls is not None)
                return
        accepted.setblocking(False)
        connection = HttpConnection(self, accepted, health_only=full)
        self._open[connection] = None
        connection.open()

    def _warn(self) -> None:
        now = self.clock.now()
        if now - self._warned >= WARN_SECONDS:
            self._warned = now
            log.warning(
                "%d HTTP connections are open, as many as http.max.connections allows: silent ones are closed",
                len(self._open),
            )


def _refuse(accepted: socket.socket, *, encrypted: bool) -> None:
    """Answer 503 and close the connection; before TLS, only close it."""
    with accepted, contextlib.suppress(OSError):
        if not encrypted:
            accepted.setblocking(False)
            accepted.send(BUSY)
