"""All HTTP connections: how many there may be, and which one makes room for another."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from ssl import SSLContext
from typing import Any

from server.http.connection import BUSY, Bounds, HttpConnection

log = logging.getLogger(__name__)

ROUND_SECONDS = 0.5
"""How often connections are checked for being late."""

WARN_SECONDS = 60.0
"""Between two lines that say that there are too many connections."""

ACCEPTS = 100
"""Connections accepted before others have their turn on the event loop."""

PAUSE_SECONDS = 0.5
"""After an accept that failed."""

Make = Callable[[dict[str, Any]], asyncio.Protocol]
"""Makes uvicorn's protocol for one connection, with the state that its requests get."""


class HttpConnections:
    """The open connections. The one that has been silent longest makes room when there are too many."""

    def __init__(self, make: Make, bounds: Bounds, tls: SSLContext | None = None) -> None:
        self.make, self.bounds, self.tls = make, bounds, tls
        self._open: dict[HttpConnection, None] = {}
        """Those heard from longest ago come first."""
        self._warned = -WARN_SECONDS
        self._listening: socket.socket | None = None

    def __len__(self) -> int:
        return len(self._open)

    def accept_from(self, listening: socket.socket) -> None:
        """Accept connections whenever some wait, until `stop_accepting`."""
        self._listening = listening
        listening.setblocking(False)
        asyncio.get_running_loop().add_reader(listening.fileno(), self._accept)

    def stop_accepting(self) -> None:
        """Close the listening socket, if there is one; may be said twice."""
        listening, self._listening = self._listening, None
        if listening is not None:
            asyncio.get_running_loop().remove_reader(listening.fileno())
            listening.close()

    def _accept(self) -> None:
        # Many at a time: under load a round of the loop may take long, and a probe waits in the same backlog.
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
        """Most likely there are too many open files. Connections wait in the backlog meanwhile."""
        log.warning("cannot accept an HTTP connection: %s", error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if self._listening is not None:
            self.accept_from(self._listening)

    async def keep_house(self) -> None:
        """End connections that are late, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            now = loop.time()
            for connection in list(self._open):
                reason = connection.overdue(now)
                if reason is not None:
                    connection.abort(reason)

    def abort_all(self) -> None:
        """End all connections at once."""
        for connection in list(self._open):
            connection.abort("the server stops")

    def heard_from(self, connection: HttpConnection) -> None:
        """The connection is the last to make room now."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def ended(self, connection: HttpConnection) -> None:
        """The connection is closed; may be said twice."""
        self._open.pop(connection, None)

    def _admit(self, accepted: socket.socket) -> None:
        full = len(self._open) >= self.bounds.connections
        if full:
            self._warn()
            silent = next((each for each in self._open if each.waits_for_peer), None)
            if silent is not None:
                silent.abort("it made room for another connection")
                full = False
            elif len(self._open) >= self.bounds.connections + self.bounds.reserve:
                _turn_away(accepted, encrypted=self.tls is not None)
                return
        accepted.setblocking(False)
        connection = HttpConnection(self, accepted, health_only=full)
        self._open[connection] = None
        connection.open()

    def _warn(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._warned >= WARN_SECONDS:
            self._warned = now
            log.warning(
                "%d HTTP connections are open, as many as http.max.connections allows: silent ones are closed",
                len(self._open),
            )


def _turn_away(accepted: socket.socket, *, encrypted: bool) -> None:
    """Say so in one packet, or close it in silence before TLS."""
    with accepted, contextlib.suppress(OSError):
        if not encrypted:
            accepted.setblocking(False)
            accepted.send(BUSY)
