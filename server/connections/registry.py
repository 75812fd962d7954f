"""All connections of a process: how many there are, what they hold, and which of them have to go."""

import asyncio
import logging
from collections.abc import Iterable

from server.connections.client_connection import ServedConnection
from server.connections.limits import ConnectionLimits
from server.ports import Stats

log = logging.getLogger(__name__)

ROUND_SECONDS = 0.5
"""How often connections are looked at, and the event loop's lag is measured."""

LEAVING_SECONDS = 1.0
"""How long connections that were closed may take to write what is due, at a stop."""


class ConnectionRegistry:
    """Counts connections from the moment that they are accepted. Implements `server.connections.client_connection.Host`."""

    def __init__(self, limits: ConnectionLimits, stats: Stats) -> None:
        self.limits = limits
        self._stats = stats
        self._guests: set[ServedConnection] = set()
        self._inside = 0
        """Connections, with those that have no guest yet."""
        self._held: dict[ServedConnection, int] = {}
        """Bytes, of those guests that hold many."""
        self.held = 0
        """The sum of them."""
        self._left = asyncio.Event()
        self._refused = 0
        """Since the last log line about it."""
        self._housekeeper: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return self._inside

    def enter(self, peer: str) -> bool:
        """Count one more, if there may be one more. Logs at most one refusal a round, so that they cannot fill a disk."""
        if self._inside >= self.limits.max_connections:
            if not self._refused:
                asyncio.get_running_loop().call_later(ROUND_SECONDS, self._report_refused)
                log.warning("closed the connection of %s: %d are open already", peer, self._inside)
            self._refused += 1
            return False
        self._inside += 1
        self._stats.connection(1)
        return True

    def leave(self) -> None:
        """One that was counted is gone."""
        self._inside -= 1
        self._stats.connection(-1)

    def admit(self, guest: ServedConnection) -> None:
        """It serves a connection that was counted."""
        self._guests.add(guest)

    def ended(self, guest: ServedConnection) -> None:
        self._guests.remove(guest)
        self.held -= self._held.pop(guest, 0)
        self.leave()
        self._left.set()

    def holds(self, guest: ServedConnection, size: int) -> None:
        self.held += size - self._held.pop(guest, 0)
        if size:
            self._held[guest] = size
        while self.held > self.limits.held_bytes:
            self._relieve()

    async def send_off(self, guests: Iterable[ServedConnection]) -> None:
        """Close these; they are gone when this returns."""
        leaving = set(guests)
        for guest in leaving:
            guest.close()
        for abort in (False, True):
            if abort:
                for guest in leaving & self._guests:
                    guest.abort("it does not read what is due")
            try:
                async with asyncio.timeout(LEAVING_SECONDS):
                    while leaving & self._guests:
                        self._left.clear()
                        await self._left.wait()
            except TimeoutError:
                continue

    def start(self) -> None:
        """Keep house from now on."""
        if self._housekeeper is None:
            self._housekeeper = asyncio.create_task(self._keep_house(), name="housekeeper")

    def stop(self) -> None:
        """Keep house no more."""
        if self._housekeeper is not None:
            self._housekeeper.cancel()
            self._housekeeper = None

    def _relieve(self) -> None:
        """End the one that has held the most for the longest: bytes times seconds."""
        now = asyncio.get_running_loop().time()
        worst = max(self._held, key=lambda guest: self._held[guest] * (now - guest.heard + 0.001))
        size = self._held.pop(worst)
        self.held -= size
        worst.abort(f"it held {size} bytes, and all connections together more than {self.limits.held_bytes}")

    def _report_refused(self) -> None:
        if self._refused > 1:
            log.warning("closed %d more connections: too many are open", self._refused - 1)
        self._refused = 0

    async def _keep_house(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + ROUND_SECONDS
            await asyncio.sleep(ROUND_SECONDS)
            now = loop.time()
            self._stats.loop_lag(max(0.0, now - due))
            self._look(now)

    def _look(self, now: float) -> None:
        """In a function of its own, whose variables do not keep a connection until the next round."""
        for guest in list(self._guests):
            reason = guest.overdue(now)
            if reason is not None:
                guest.abort(reason)
