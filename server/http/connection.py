"""One HTTP connection around uvicorn's protocol: how long it may keep the server waiting.

uvicorn sets no time for a request to arrive or for an answer to be read, and learns of a connection only after its TLS
handshake. So a connection begins here, when it is accepted. All that it receives is handed on to uvicorn's protocol by the
methods of `asyncio.Protocol`, which are public; nothing inside uvicorn is replaced.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any, NamedTuple, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.peer_user import user_of

log = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """What a connection may take. Times are in seconds."""

    connections: int = 1_000
    reserve: int = 16
    """Connections beyond these, when nobody among them waits; they are answered on health paths only."""
    handshake: float = 10
    head: float = 20
    """From the accept, or from the end of the last answer, to the end of a request's headers."""
    body: float = 30
    body_rate: int = 10_000
    """Bytes a second. A body has `body` seconds, and one more for so many bytes that have come."""
    answer: float = 60
    """How long a client may leave the transport's buffer full."""


KEY = "reassignd.connection"
"""Where the state of an ASGI scope has the `HttpConnection`."""

BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    b'{"error":"there are too many connections already; see http.max.connections"}\n'
)

peer_of_context: ContextVar[str] = ContextVar("peer", default="unknown")
"""Whose data is being handled, for the lines that uvicorn logs."""


class ConnectionOwner(Protocol):
    """Who opened the connections: `server.http.connections.HttpConnections`."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def tls(self) -> SSLContext | None: ...

    def make(self, state: dict[str, Any], /) -> asyncio.Protocol:
        """Return uvicorn's protocol for one connection, with the state that its requests get."""
        ...

    def heard_from(self, connection: "HttpConnection", /) -> None:
        """Note that the peer has sent something."""
        ...

    def ended(self, connection: "HttpConnection", /) -> None:
        """Note that the connection is gone."""
        ...


class HttpConnection(asyncio.Protocol):
    """One connection, from its accept on. It knows whether the server waits for the peer, and since when."""

    def __init__(self, owner: ConnectionOwner, accepted: socket.socket, *, health_only: bool) -> None:
        self._owner, self._bounds = owner, owner.bounds
        self._socket = accepted
        self._loop = asyncio.get_running_loop()
        self._opening: asyncio.Task[None] | None = None
        self._taken = False
        """The event loop has the socket, and closes it."""
        self._transport: asyncio.Transport | None = None
        self._inner: asyncio.Protocol
        self._since = self._loop.time()
        """Of the accept, or of the last answer's end."""
        self._requests = 0
        """That the application is answering."""
        self._body_since: float | None = None
        """When the request began whose body the application awaits."""
        self._received = 0
        """Bytes since then."""
        self._full_since: float | None = None
        """Since when the peer reads nothing of a full buffer."""
        self.health_only = health_only
        self.peer = _peer(accepted)
        self.certificate: dict[str, Any] | None = None
        """Of the peer, verified; None when it has shown none."""

    def open(self) -> None:
        """Shake hands if there is TLS, then serve."""
        self._opening = asyncio.create_task(self._open(), name="HTTP connection")

    async def _open(self) -> None:
        tls = self._owner.tls
        seconds = None if tls is None else self._bounds.handshake
        self._taken = True
        try:
            await self._loop.connect_accepted_socket(
                lambda: self, self._socket, ssl=tls, ssl_handshake_timeout=seconds
            )
        except OSError as error:
            log.debug("the HTTP connection of %s did not begin: %s", self.peer, error)
        finally:
            if self._transport is None:
                self._owner.ended(self)

    @property
    def waits_for_peer(self) -> bool:
        """Nothing is being computed for the connection."""
        return not self._requests or self._body_since is not None or self._full_since is not None

    def user(self) -> int | None:
        """The id of the user who holds the other end, if it is on this machine and the system says so."""
        return user_of(self._socket_of_transport())

    def overdue(self, now: float) -> str | None:
        """Why the connection must end, if it must."""
        bounds = self._bounds
        if self._full_since is not None and now - self._full_since > bounds.answer:
            return f"nothing of the answer was read for {bounds.answer:g} s"
        if self._body_since is not None:
            allowed = bounds.body + self._received / bounds.body_rate
            late = now - self._body_since > allowed
            return f"the body was not complete after {allowed:.0f} s" if late else None
        if not self._requests and now - self._since > bounds.head:
            return f"no request was complete after {bounds.head:g} s"
        return None

    def abort(self, reason: str) -> None:
        """End it at once."""
        log.debug("closed the HTTP connection of %s: %s", self.peer, reason)
        self._owner.ended(self)
        if self._transport is not None:
            self._transport.abort()
        elif self._opening is not None:
            self._opening.cancel()
            if not self._taken:
                self._socket.close()

    # ---- the requests on it, told by `watched` ----------------------------------------------------------------

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """A request has its headers, and is being answered inside."""
        self._requests += 1
        self._since, self._received = self._loop.time(), 0
        try:
            yield
        finally:
            self._requests -= 1
            self._since = self._loop.time()

    @contextlib.contextmanager
    def body(self) -> Iterator[None]:
        """The application awaits more of the body inside."""
        self._body_since = self._since
        try:
            yield
        finally:
            self._body_since = None

    # ---- asyncio.Protocol ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # it is one
        self._transport = transport
        self.certificate = transport.get_extra_info("peercert") or None
        peer_of_context.set(self.peer)
        self._inner = self._owner.make({KEY: self})
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        self._owner.heard_from(self)
        peer_of_context.set(self.peer)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._full_since = self._loop.time()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._full_since = None
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.ended(self)
        self._inner.connection_lost(exc)
        # The collector seldom looks at old objects: without these cycles the memory is free at once.
        self._inner, self._transport, self._opening = _OVER, None, None

    def _socket_of_transport(self) -> socket.socket | None:
        return None if self._transport is None else self._transport.get_extra_info("socket")


_OVER = asyncio.Protocol()
"""Stands for uvicorn's protocol once the connection is closed."""


def watched(app: ASGIApp, health: frozenset[str]) -> ASGIApp:
    """The application, which tells each connection how far its requests are; `health` are the paths that a reserve is for."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        connection: HttpConnection = scope["state"][KEY]

        async def hear() -> Message:
            with connection.body():
                return await receive()

        with connection.request():
            if connection.health_only and scope["path"] not in health:
                await _busy(send)
            else:
                await app(scope, hear, send)

    return answer


async def _busy(send: Send) -> None:
    _, _, body = BUSY.partition(b"\r\n\r\n")
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _peer(accepted: socket.socket) -> str:
    try:
        name = accepted.getpeername()
    except OSError:
        return "unknown"
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "the unix socket"


class PeerInLines(logging.Filter):
    """Adds to uvicorn's lines from whom the data came."""

    def filter(self, record: logging.LogRecord) -> bool:
        peer = peer_of_context.get()
        if peer != "unknown":
            record.msg = f"{str(record.msg).strip().removesuffix('.')} (from {peer})"
        return True
