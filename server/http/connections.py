"""All HTTP connections: their number is limited; a new one replaces the one that is silent longest."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Collection
from ssl import SSLContext

from starlette.types import ASGIApp, Receive, Scope, Send

from common.accepting import Acceptor
from common.clock import Clock
from common.repeated_warnings import RepeatedWarnings
from common.tasks import cancel
from server.http.connection import KEY, Bounds, Common, HttpConnection
from server.http.exchange import serve

log = logging.getLogger(__name__)

CHECK_SECONDS = 0.5
"""Time between two checks for overdue connections."""

WARN_SECONDS = 60.0
"""Shortest time between two warnings of too many connections."""

GRACE_SECONDS = 1
"""Time that a stop waits for answers in progress."""


class HttpConnections:
    """The open connections, and the task of each."""

    def __init__(
        self,
        app: ASGIApp,
        health_paths: Collection[str],
        bounds: Bounds,
        tls: SSLContext | None,
        clock: Clock,
    ) -> None:
        self._app, self._bounds, self._clock = _keep_reserve(app, health_paths), bounds, clock
        self._open: dict[HttpConnection, None] = {}
        self._common = Common(bounds, tls, clock, RepeatedWarnings(log, clock), self._open)
        self._tasks: set[asyncio.Task[None]] = set()
        self._warned = -WARN_SECONDS
        self._acceptor: Acceptor | None = None

    def accept_from(self, listening: socket.socket) -> None:
        """Accept connections until `stop`."""
        self._acceptor = Acceptor(listening, self._admit, "HTTP connections")

    async def close_overdue(self) -> None:
        """Close connections whose client exceeds a time limit, until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            self._common.warnings.report()
            self._close_overdue(self._clock.now())

    def _close_overdue(self, now: float) -> None:
        # As a part of the loop, it would keep the last connection in memory until the next check.
        for connection in list(self._open):
            connection.close_if_unused(now)
            reason = connection.overdue(now)
            if reason is not None:
                connection.abort(reason)

    async def stop(self) -> None:
        """Stop accepting.

        Close idle connections at once, and others after their answer or `GRACE_SECONDS`.
        """
        if self._acceptor is not None:
            self._acceptor.close()
        for connection in list(self._open):
            if connection.transport is None:
                connection.abort("the server stops")
            elif connection.answering:
                connection.last = True
            else:
                connection.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
        for connection in list(self._open):
            connection.abort("the server stops")
        await cancel(*self._tasks)

    def _admit(self, accepted: socket.socket, peer: str) -> None:
        full = len(self._open) >= self._bounds.connections
        if full:
            self._warn()
            silent = next((connection for connection in self._open if connection.waits_for_client), None)
            if silent is not None:
                silent.abort("it made room for another connection")
                full = False
            elif len(self._open) >= self._bounds.connections + self._bounds.reserve:
                _refuse(accepted, encrypted=self._common.tls is not None)
                return
        connection = HttpConnection(self._common, accepted, peer, health_only=full)
        self._open[connection] = None
        connection.task = asyncio.create_task(serve(connection, self._app), name="HTTP connection")
        self._tasks.add(connection.task)
        connection.task.add_done_callback(self._tasks.discard)

    def _warn(self) -> None:
        now = self._clock.now()
        if now - self._warned >= WARN_SECONDS:
            self._warned = now
            log.warning(
                "%d HTTP connections are open, as many as http.max.connections allows: silent ones are "
                "closed",
                len(self._open),
            )


BUSY_BODY = b'{"error":"there are too many connections already; see http.max.connections"}\n'
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    + BUSY_BODY
)


def _keep_reserve(app: ASGIApp, health_paths: Collection[str]) -> ASGIApp:
    """Wrap the application: answer 503 to what `health_only` connections may not ask."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        connection: HttpConnection = scope["state"][KEY]
        if connection.health_only and scope["path"] not in health_paths:
            headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": BUSY_BODY})
        else:
            await app(scope, receive, send)

    return answer


def _refuse(accepted: socket.socket, *, encrypted: bool) -> None:
    """Answer 503 and close the connection; before TLS, only close it."""
    with accepted, contextlib.suppress(OSError):
        if not encrypted:
            accepted.setblocking(False)
            accepted.send(BUSY)
