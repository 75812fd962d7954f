"""One HTTP connection: what the client sends, parsed by h11, and the time limits for its client.

Nothing is read ahead of the application: the client waits, as for its answers, when more than `MOST_UNREAD`
bytes have not been asked for.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from http import HTTPStatus
from ssl import SSLContext
from typing import NamedTuple

import h11
import msgspec

from common.clock import Clock
from common.repeated_warnings import RepeatedWarnings
from common.tls import handshake_failure, peer_certificate
from server.http.peer_user import user_of

log = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """Limits of the connections. Times are in seconds."""

    connections: int = 1_000
    reserve: int = 16
    """Further connections while the server works on all others. They get answers on health paths only."""
    handshake: float = 10
    head: float = 20
    """Time from the accept, or from the end of the last answer, to the end of a request's headers."""
    keep_alive: float = 5
    """Time from the end of an answer to the next byte."""
    body: float = 30
    body_rate: int = 10_000
    """Bytes per second. A body has `body` seconds, and another second for this number of received bytes."""
    answer: float = 60
    """Time that the transport's buffer may stay full because the client does not read."""


class Common(NamedTuple):
    """What all connections of a server have in common."""

    bounds: Bounds
    tls: SSLContext | None
    clock: Clock
    warnings: RepeatedWarnings
    open: "dict[HttpConnection, None]"
    """The open connections in the order of the last data that each has sent, the oldest first."""


MOST_UNREAD = 64 * 1024
"""Received bytes that the application has not asked for, from which on reading is paused."""

KEY = "reassignd.connection"
"""Key of the `HttpConnection` in the state of an ASGI scope."""


class HttpConnection(asyncio.Protocol):
    """One connection from its accept on. Tracks whether the server waits for the client, and since when."""

    def __init__(self, common: Common, accepted: socket.socket, peer: str, *, health_only: bool) -> None:
        self._common, self._bounds, self._now = common, common.bounds, common.clock.now
        self._socket = accepted
        self._loop_owns_socket = False
        """The event loop closes the socket."""
        self.task: asyncio.Task[None] | None = None
        """Opens the connection and serves it."""
        self.transport: asyncio.Transport | None = None
        self.http = h11.Connection(h11.SERVER)
        self._arrived = asyncio.Event()
        """Set by data, and by the end of the connection."""
        self._unread, self._paused = 0, False
        self._writable = asyncio.Event()
        self._writable.set()
        self.lost = asyncio.Event()
        """Set when the connection is closed."""
        self._idle_since = self._now()
        """Time of the accept, or of the end of the last answer."""
        self._received = 0
        """Bytes received since then."""
        self._answers = 0
        """Answers that have ended."""
        self.answering = False
        """Whether the application answers a request."""
        self._body_since: float | None = None
        """Start of the request whose body the application waits for."""
        self._full_since: float | None = None
        """Time since when the write buffer is full."""
        self.last = False
        """The connection is closed after the present answer."""
        self.health_only = health_only
        self.peer = peer
        self.certificate: bytes | None = None
        """The client's verified certificate in DER, if it presented one."""

    async def open(self) -> bool:
        """Complete the TLS handshake, if there is TLS; return whether the connection is open."""
        tls = self._common.tls
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
                self._common.warnings.closed(self.peer, reason)
        finally:
            if self.transport is None:
                self._common.open.pop(self, None)
        return self.transport is not None

    # ---- limits --------------------------------------------------------------------------------------------

    @property
    def waits_for_client(self) -> bool:
        """Whether the server does nothing for this connection but wait for the client."""
        return not self.answering or self._body_since is not None or self._full_since is not None

    def overdue(self, now: float) -> str | None:
        """Return the reason why the connection must be closed, if there is one."""
        bounds = self._bounds
        if self._full_since is not None and now - self._full_since > bounds.answer:
            return f"nothing of the answer was read for {bounds.answer:g} s"
        if self._body_since is not None:
            allowed = bounds.body + self._received / bounds.body_rate
            late = now - self._body_since > allowed
            return f"the body was not complete after {allowed:.0f} s" if late else None
        if not self.answering and now - self._idle_since > bounds.head:
            return f"no request was complete after {bounds.head:g} s"
        return None

    def close_if_unused(self, now: float) -> None:
        """Close a connection that was kept for a further request when none has begun."""
        unused = self._answers and not self.answering and not self._received
        if unused and now - self._idle_since > self._bounds.keep_alive:
            self.close()

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Mark the time in which the application answers a request."""
        self.answering, self._idle_since, self._received = True, self._now(), 0
        try:
            yield
        finally:
            self.answering, self._idle_since, self._received = False, self._now(), 0
            self._answers += 1

    # ---- the client ----------------------------------------------------------------------------------------

    def user(self) -> int | None:
        """Return the id of the user that owns the client's socket, if it is on this machine."""
        return user_of(None if self.transport is None else self.transport.get_extra_info("socket"))

    async def event(self) -> object:
        """Return what the client sends next.

        Raises ConnectionError at its end, and h11.RemoteProtocolError.
        """
        while not self.closed:
            event = self._next_event()
            if event is not h11.NEED_DATA:
                return event
            self._arrived.clear()
            self._read_on()
            await self._arrived.wait()
        raise ConnectionResetError

    async def body_part(self) -> tuple[bytes, bool]:
        """Return what has arrived of the body, and whether more follows. Raises what `event` raises."""
        with self._body():
            event, body = await self.event(), bytearray()
        while isinstance(event, h11.Data):
            body += event.data
            event = self._next_event()
        return bytes(body), event is h11.NEED_DATA

    @contextlib.contextmanager
    def _body(self) -> Iterator[None]:
        """Mark the time in which the application waits for more of the body."""
        self._body_since = self._idle_since
        try:
            yield
        finally:
            self._body_since = None

    def _next_event(self) -> object:
        event = self.http.next_event()
        if isinstance(event, h11.EndOfMessage) and not self.http.trailing_data[0]:
            # The end of the connection is noticed while the application answers.
            self._read_on()
        return event

    def _read_on(self) -> None:
        self._unread = 0
        if self._paused and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()

    async def writable(self) -> None:
        """Wait until the client has read enough of what was written."""
        await self._writable.wait()

    def write(self, data: bytes | None) -> None:
        """Write data, unless the connection is closed."""
        if data and self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    @property
    def closed(self) -> bool:
        """Whether nothing more is read or written."""
        return self.transport is None or self.transport.is_closing()

    def refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answer bytes that are not HTTP with one line of JSON, and close the connection."""
        # h11 appends the invalid bytes, which may be a token.
        reason = str(error).partition(": bytearray(")[0]
        # Its frames refer to the error and to this connection: the garbage collector rarely scans old
        # objects.
        error.__traceback__ = None
        self._common.warnings.closed(self.peer, f"not an HTTP/1.1 request: {reason}")
        # After the beginning of an answer, only its end can tell the client that something is wrong.
        if self.http.our_state is not h11.SEND_BODY:
            status = HTTPStatus(error.error_status_hint)
            body = msgspec.json.encode({"error": f"not an HTTP/1.1 request: {reason}"}) + b"\n"
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.write(head.encode() + body)
        self.close()

    def close(self) -> None:
        """Close the connection after what was written."""
        # asyncio's transport of TLS forgets its protocol if it is closed twice, and `abort` fails then.
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def abort(self, reason: str) -> None:
        """Close the connection at once."""
        log.debug("closed the HTTP connection of %s: %s", self.peer, reason)
        self._common.open.pop(self, None)
        if self.transport is not None:
            self.transport.abort()
        elif self.task is not None:
            self.task.cancel()
            if not self._loop_owns_socket:
                self._socket.close()

    # ---- asyncio.Protocol ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # it is one
        self.transport = transport
        self.certificate = peer_certificate(transport)

    def data_received(self, data: bytes) -> None:
        if self in self._common.open:
            del self._common.open[self]
            self._common.open[self] = None
        self._received += len(data)
        self._unread += len(data)
        self.http.receive_data(data)
        self._arrived.set()
        if self._unread > MOST_UNREAD and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        self._full_since = self._now()
        self._writable.clear()

    def resume_writing(self) -> None:
        self._full_since = None
        self._writable.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._common.open.pop(self, None)
        for event in (self.lost, self._arrived, self._writable):
            event.set()
