"""All client connections of the process: their number, their memory, and their time limits."""

import asyncio
import logging
from collections.abc import Iterable

from common.clock import Clock, RealClock
from common.repeated_warnings import RepeatedWarnings
from common.wording import counted
from server.connections.client_connection import ConnectionLimits, ServedConnection
from server.counters import Counters

log = logging.getLogger(__name__)

CHECK_SECONDS = 0.5
"""Interval of the checks of all connections and of the measurement of the event loop's lag."""

CLOSE_SECONDS = 1.0
"""Time for closed connections to write pending answers; then they are aborted."""


class ConnectionRegistry:
    """Counts and limits connections from the moment they are accepted.

    It implements `server.connections.client_connection.Host`.
    """

    def __init__(self, limits: ConnectionLimits, stats: Counters, clock: Clock | None = None) -> None:
        self.limits = limits
        self._stats = stats
        self._clock = clock or RealClock()
        self._warnings = RepeatedWarnings(log, self._clock)
        self._served: set[ServedConnection] = set()
        self._count = 0
        """Accepted connections, including those in the TLS handshake."""
        self._buffered: dict[ServedConnection, int] = {}
        """Bytes buffered by a connection, for those that buffer many."""
        self.buffered = 0
        """Sum of `_buffered`."""
        self._connection_ended = asyncio.Event()
        self._refused = 0
        """Refused connections since the last log line about them."""
        self._task: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """Number of accepted connections."""
        return self._count

    def enter(self, peer: str) -> bool:
        """Count an accepted connection; return False when the limit is reached.

        At most one refusal per CHECK_SECONDS is logged, so that refusals cannot fill the disk.
        """
        if self._count >= self.limits.max_connections:
            if not self._refused:
                asyncio.get_running_loop().call_later(CHECK_SECONDS, self._report_refused)
                log.warning("closed the connection of %s: %d are open already", peer, self._count)
            self._refused += 1
            return False
        self._count += 1
        self._stats.connection(1)
        return True

    def leave(self) -> None:
        """Count a connection as ended."""
        self._count -= 1
        self._stats.connection(-1)

    def admit(self, connection: ServedConnection) -> None:
        """Add an established connection, which was counted by `enter`."""
        self._served.add(connection)

    def ended(self, connection: ServedConnection) -> None:
        self._served.remove(connection)
        self.buffered -= self._buffered.pop(connection, 0)
        self.leave()
        self._connection_ended.set()

    def set_buffered(self, connection: ServedConnection, size: int) -> None:
        self.buffered += size - self._buffered.pop(connection, 0)
        if size:
            self._buffered[connection] = size
        while self.buffered > self.limits.held_bytes:
            self._abort_largest()

    def closes(self, peer: str, reason: str) -> None:
        self._warnings.closed(peer, reason)

    async def close_all(self, connections: Iterable[ServedConnection]) -> None:
        """Close the connections and wait for their end; abort those that take longer than CLOSE_SECONDS."""
        closing = set(connections)
        for connection in closing:
            connection.close()
        for abort in (False, True):
            if abort:
                for connection in closing & self._served:
                    connection.abort("its client does not read the pending answers")
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    while closing & self._served:
                        self._connection_ended.clear()
                        await self._connection_ended.wait()
            except TimeoutError:
                continue

    def start(self) -> None:
        """Start the periodic checks."""
        if self._task is None:
            self._task = asyncio.create_task(self._check_periodically(), name="connection-checks")

    def stop(self) -> None:
        """Stop the periodic checks."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _abort_largest(self) -> None:
        """Abort the connection with the most bytes times seconds since its last activity."""
        now = asyncio.get_running_loop().time()
        largest = max(
            self._buffered,
            key=lambda connection: self._buffered[connection] * (now - connection.last_active + 0.001),
        )
        size = self._buffered.pop(largest)
        self.buffered -= size
        largest.abort(
            f"it held {size} bytes, and all connections together more than {self.limits.held_bytes}"
        )

    def _report_refused(self) -> None:
        if self._refused > 1:
            log.warning("closed %s: too many are open", counted(self._refused - 1, "more connection"))
        self._refused = 0

    async def _check_periodically(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = self._clock.now() + CHECK_SECONDS
            await self._clock.sleep(CHECK_SECONDS)
            self._stats.loop_lag(max(0.0, self._clock.now() - due))
            self._abort_overdue(loop.time())
            self._warnings.report()

    def _abort_overdue(self, now: float) -> None:
        """Abort connections that exceed a time limit.

        A separate function, so that its variables do not keep an ended connection alive until the next check.
        """
        for connection in list(self._served):
            reason = connection.overdue(now)
            if reason is not None:
                connection.abort(reason)
