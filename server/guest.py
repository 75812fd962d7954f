"""A client's connection, as the listeners and their housekeeping see it."""

import asyncio
from abc import ABC, abstractmethod


class Guest(asyncio.Protocol, ABC):
    """Tells whoever made it (`on_end`) when it is gone."""

    @property
    @abstractmethod
    def pending(self) -> asyncio.Future[bytes] | None:
        """The answer that is being made; it has been written when those who wait for it are told."""

    @abstractmethod
    def overdue(self, now: float) -> str | None:
        """Why the connection should be closed by now (the loop's time), if it should."""

    @abstractmethod
    def close(self, reason: str | None = None) -> None:
        """Write what is due and end the connection, with one log line if there is a reason."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """End the connection now: its client may not read what is due."""
