"""A client's connection, as the listeners and their housekeeping see it."""

import asyncio
from abc import ABC, abstractmethod
from typing import Protocol

WORTH_NOTING = 16 * 1024
"""Bytes held by one connection; fewer are not reported, so that small requests cost nothing more."""


class Host(Protocol):
    """Whoever keeps the connections."""

    def ended(self, guest: "ServedConnection") -> None:
        """The guest and all its descriptors are gone."""
        ...

    def holds(self, guest: "ServedConnection", size: int) -> None:
        """The guest holds so many bytes by now. Aborts guests where all together hold too many, perhaps this one."""
        ...


class ServedConnection(asyncio.Protocol, ABC):
    """Tells its host what it holds, and when it is gone."""

    heard: float
    """When bytes were last received, or an answer was last sent (the loop's time)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._noted = False
        """The host was told of bytes that are held."""
        self._closed = False

    @property
    @abstractmethod
    def pending(self) -> asyncio.Future[bytes] | None:
        """The answer that is being made; it has been written when those who wait for it are told."""

    @property
    @abstractmethod
    def held(self) -> int:
        """Bytes of requests that wait or are incomplete, and of answers that the client has not read."""

    @abstractmethod
    def overdue(self, now: float) -> str | None:
        """Why the connection should be closed by now (the loop's time), if it should."""

    @abstractmethod
    def close(self, reason: str | None = None) -> None:
        """Write what is due and end the connection, with one log line if there is a reason."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """End the connection now: its client may not read what is due."""

    def _note(self) -> None:
        """Report what is held, if it is worth it. The connection may be closed when this returns."""
        if self._closed:
            return
        size = self.held
        if size >= WORTH_NOTING or self._noted:
            self._noted = size >= WORTH_NOTING
            self._host.holds(self, size if self._noted else 0)
