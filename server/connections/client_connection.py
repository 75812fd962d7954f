"""A client's connection, as the listeners and the connection registry see it, and its limits."""

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from protocol.codec.errors import DecodeError
from protocol.frames import MAX_FRAME
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

REPORTED_BYTES = 16 * 1024
"""Buffered bytes from which on a connection reports them; small requests need no report."""


class Host(Protocol):
    """The owner of the connections."""

    def ended(self, connection: "ServedConnection") -> None:
        """The connection and its file descriptors are closed."""
        ...

    def set_buffered(self, connection: "ServedConnection", size: int) -> None:
        """Record the number of bytes that the connection buffers.

        This aborts connections, perhaps this one, when all together buffer too many.
        """
        ...

    def closes(self, peer: str, reason: str) -> None:
        """Log why the connection of a client is closed. Repeated reasons are summarized."""
        ...


class ServedConnection(asyncio.Protocol, ABC):
    """Base of the connection protocols. Reports its buffered bytes and its end to the host."""

    last_active: float
    """Time of the event loop when bytes were last received or an answer was last sent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._buffer_reported = False
        """The host has a report of more than 0 bytes."""
        self._closed = False

    @property
    @abstractmethod
    def peer(self) -> str:
        """Address of the client."""

    @property
    @abstractmethod
    def pending(self) -> asyncio.Future[bytes] | None:
        """The answer in progress. It has been written before later done callbacks run."""

    @property
    @abstractmethod
    def buffered(self) -> int:
        """Bytes of waiting and incomplete requests, and of answers that the client has not read."""

    @abstractmethod
    def overdue(self, now: float) -> str | None:
        """Return the reason to close the connection, or None. `now` is the time of the event loop."""

    @abstractmethod
    def close(self, reason: str | None = None) -> None:
        """Write pending answers and close the connection; log the reason, if any."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Close the connection at once; pending answers are lost."""

    def _close_unanswered(self, error: BaseException) -> None:
        """Close the connection because the answer to a request failed with `error`."""
        if isinstance(error, DecodeError):
            self.close(str(error))
            return
        if not isinstance(error, DriverStoppedError):
            log.error("a request of %s could not be answered", self.peer, exc_info=error)
        self.close()

    def _report_buffered(self) -> None:
        """Report the buffered bytes to the host. The host may abort the connection."""
        if self._closed:
            return
        size = self.buffered
        if size >= REPORTED_BYTES or self._buffer_reported:
            self._buffer_reported = size >= REPORTED_BYTES
            self._host.set_buffered(self, size if self._buffer_reported else 0)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of each connection, and of all together."""

    max_connections: int = 10_000
    """[max.connections] Connections of all listeners; one more is closed at once."""
    idle: float = 600.0
    """[connections.max.idle.ms] Time without a request, or without reading answers."""
    handshake: float = 10.0
    """[tls.handshake.timeout.ms] Time from accepting a connection to the end of its TLS handshake."""
    leave: float = 30.0
    """Time from closing a connection until both ends have read pending data; then it is aborted."""
    frame: float = 60.0
    """[frame.timeout.ms] Time from the first byte of a request to its last."""
    max_frame: int = MAX_FRAME
    """[socket.request.max.bytes] Largest request."""
    login_frame: int = 512 * 1024
    """[sasl.server.max.receive.size] Largest request before a login."""
    pipelined: int = 100
    """Waiting requests of one connection above which it is not read. One read may add more."""
    pipelined_bytes: int = 1024 * 1024
    """The same limit in bytes."""
    burst: int = 100
    """Requests of one connection answered in a row before the event loop handles other connections."""
    burst_bytes: int = 256 * 1024
    """The same limit in bytes of answers."""
    held_bytes: int = 512 * 1024 * 1024
    """[connections.max.held.bytes] Bytes buffered for all connections: waiting and incomplete requests,
    unread answers."""
