"""One HTTP connection: the time limits for its client.

uvicorn limits neither the time in which a request must arrive nor the time in which an answer must be read, and sees a TLS
connection only after the handshake. So a connection starts here, when it is accepted. It passes everything it receives
to uvicorn's protocol by the public methods of `asyncio.Protocol`.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from ssl import SSLContext
from typing import Any, NamedTuple, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from common.clock import Clock
from common.tls import handshake_failure, peer_certificate
from server.http.peer_user import user_of
from server.http.uvicorn_adapter import REFUSE, current_peer, has_next_request

log = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """Limits of the connections. Times are in seconds."""

    connections: int = 1_000
    reserve: int = 16
    """Further connections while the server works on all others. They get answers on health paths only."""
    handshake: float = 10
    head: float = 20
    """Time from the accept, or from the end of the last answer, to the end of a request's headers."""
    body: float = 30
    body_rate: int = 10_000
    """Bytes per second. A body has `body` seconds, and another second for this number of received bytes."""
    answer: float = 60
    """Time that the transport's buffer may stay full because the client does not read."""


KEY = "reassignd.connection"
"""Key of the `HttpConnection` in the state of an ASGI scope."""

BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    b'{"error":"there are too many connections already; see http.max.connections"}\n'
)


class ConnectionOwner(Protocol):
    """The port to the owner of all connections (`server.http.connections.HttpConnections`)."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def tls(self) -> SSLContext | None: ...

    @property
    def clock(self) -> Clock: ...

    def make_protocol(self, state: dict[str, Any], /) -> asyncio.Protocol:
        """Return uvicorn's protocol for one connection; its requests get this state."""
        ...

    def data_received(self, connection: "HttpConnection", /) -> None:
        """Note that the client has sent data."""
        ...

    def closed(self, connection: "HttpConnection", /) -> None:
        """Note that the connection is closed."""
        ...

    def refused(self, peer: str, reason: str, /) -> None:
        """Log why the connection of a client is closed. Repeated reasons are summarized."""
        ...


class HttpConnection(asyncio.Protocol):
    """One connection from its accept on. Tracks whether the server waits for the client, and since when."""

    def __init__(self, owner: ConnectionOwner, accepted: socket.socket, *, health_only: bool) -> None:
        self._owner, self._bounds, self._clock = owner, owner.bounds, owner.clock
        self._socket = accepted
        self._opening: asyncio.Task[None] | None = None
        self._loop_owns_socket = False
        """The event loop closes the socket."""
        self._transport: asyncio.Transport | None = None
        self._protocol: asyncio.Protocol
        self._idle_since = self._clock.now()
        """Time of the accept, or of the end of the last answer."""
        self._requests = 0
        """Requests that the application is answering."""
        self._body_since: float | None = None
        """Start of the request whose body the application waits for."""
        self._received = 0
        """Bytes received since that start."""
        self.lost = asyncio.Event()
        """Set when the connection is closed."""
        self._watched = False
        """Reading goes on during the present request only to notice the end of the connection."""
        self._full_since: float | None = None
        """Time since when the write buffer is full."""
        self.health_only = health_only
        self.peer = _peer_name(accepted)
        self.certificate: bytes | None = None
        """The client's verified certificate in DER, if it presented one."""

    def open(self) -> None:
        """Start the TLS handshake, if there is TLS, and then serve."""
        self._opening = asyncio.create_task(self._open(), name="HTTP connection")

    async def _open(self) -> None:
        tls = self._owner.tls
        seconds = None if tls is None else self._bounds.handshake
        self._loop_owns_socket = True
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self, self._socket, ssl=tls, ssl_handshake_timeout=seconds
            )
        except OSError as error:
            reason = None if tls is None else handshake_failure(error)
            if reason is None:
                log.debug("cannot open the HTTP connection of %s: %s", self.peer, error)
            else:
                self._owner.refused(self.peer, reason)
        finally:
            if self._transport is None:
                self._owner.closed(self)

    def _refuse(self, reason: str) -> None:
        self._owner.refused(self.peer, f"not an HTTP/1.1 request: {reason}")

    @property
    def waits_for_client(self) -> bool:
        """Whether the server does nothing for this connection but wait for the client."""
        return not self._requests or self._body_since is not None or self._full_since is not None

    def user(self) -> int | None:
        """Return the id of the user that owns the client's socket, if it is on this machine and the system tells it."""
        return user_of(None if self._transport is None else self._transport.get_extra_info("socket"))

    def overdue(self, now: float) -> str | None:
        """Return the reason why the connection must be closed, if there is one."""
        bounds = self._bounds
        if self._full_since is not None and now - self._full_since > bounds.answer:
            return f"nothing of the answer was read for {bounds.answer:g} s"
        if self._body_since is not None:
            allowed = bounds.body + self._received / bounds.body_rate
            late = now - self._body_since > allowed
            return f"the body was not complete after {allowed:.0f} s" if late else None
        if not self._requests and now - self._idle_since > bounds.head:
            return f"no request was complete after {bounds.head:g} s"
        return None

    def abort(self, reason: str) -> None:
        """Close the connection at once."""
        log.debug("closed the HTTP connection of %s: %s", self.peer, reason)
        self._owner.closed(self)
        if self._transport is not None:
            self._transport.abort()
        elif self._opening is not None:
            self._opening.cancel()
            if not self._loop_owns_socket:
                self._socket.close()

    # ---- requests, reported by `track_requests` --------------------------------------------------------------

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Mark the time in which the application answers a request."""
        self._requests += 1
        self._idle_since, self._received, self._watched = self._clock.now(), 0, False
        try:
            yield
        finally:
            self._requests -= 1
            self._idle_since = self._clock.now()

    @contextlib.contextmanager
    def body(self) -> Iterator[None]:
        """Mark the time in which the application waits for more of the body."""
        self._body_since = self._idle_since
        try:
            yield
        finally:
            self._body_since = None

    async def wait_for_end(self) -> None:
        """Return when the connection is closed.

        uvicorn has paused reading if more than 64 KiB of the body arrived at once. It is resumed, but for one read of a
        further request only: a client that sends many must not fill the memory. After that read, the end is not noticed.
        """
        transport = self._transport
        if transport is not None and not transport.is_reading() and not has_next_request(self._protocol):
            self._watched = True
            transport.resume_reading()
        await self.lost.wait()

    # ---- asyncio.Protocol ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # it is one
        self._transport = transport
        self.certificate = peer_certificate(transport)
        current_peer.set(self.peer)
        self._protocol = self._owner.make_protocol({KEY: self, REFUSE: self._refuse})
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        self._owner.data_received(self)
        current_peer.set(self.peer)
        self._protocol.data_received(data)
        if self._watched and self._transport is not None and has_next_request(self._protocol):
            # uvicorn resumes it after the answer.
            self._transport.pause_reading()

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._full_since = self._clock.now()
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._full_since = None
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.closed(self)
        self.lost.set()
        self._protocol.connection_lost(exc)
        # Break the reference cycles: the garbage collector rarely scans old objects.
        self._protocol, self._transport, self._opening = _CLOSED, None, None


_CLOSED = asyncio.Protocol()
"""Replaces uvicorn's protocol once the connection is closed."""


_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


def track_requests(app: ASGIApp, health_paths: frozenset[str]) -> ASGIApp:
    """Wrap the application: report each request to its connection, and refuse what `health_only` connections may not ask."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        connection: HttpConnection = scope["state"][KEY]

        body_left = not _BODY_HEADERS.isdisjoint(name for name, _ in scope["headers"])
        received = False

        async def receive_body() -> Message:
            # uvicorn's `receive` resumes reading, and so adds pipelined requests to its buffer. It is called for bodies only.
            nonlocal body_left, received
            if body_left:
                with connection.body():
                    message = await receive()
                body_left = message.get("more_body", False)
            elif received:
                await connection.wait_for_end()
                message = {"type": "http.disconnect"}
            else:
                message = {"type": "http.request", "body": b"", "more_body": False}
            received = True
            return message

        with connection.request():
            if connection.health_only and scope["path"] not in health_paths:
                await _send_busy(send)
            else:
                await app(scope, receive_body, send)

    return answer


async def _send_busy(send: Send) -> None:
    _, _, body = BUSY.partition(b"\r\n\r\n")
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _peer_name(accepted: socket.socket) -> str:
    try:
        name = accepted.getpeername()
    except OSError:
        return "unknown"
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "the unix socket"
