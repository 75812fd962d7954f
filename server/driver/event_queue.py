"""The order in which events are decided: as they come, but steps that begin in the background let others go first."""

import asyncio
from typing import Any, NamedTuple

from controller.messages.event import AnyEvent
from controller.messages.events import Continue

ROUNDS_BEFORE_BACKGROUND = 6
"""Rounds of the event loop before steps are started in the background: an answer that is ready takes some to leave."""

PATIENCE = 100
"""Events that go before steps are started in the background, though they came later."""


class QueuedEvent(NamedTuple):
    """An event, and who waits for its reply, if anyone does."""

    event: AnyEvent
    reply: asyncio.Future[Any] | None


class EventQueue:
    """Submissions that wait to be decided; None is the end."""

    def __init__(self) -> None:
        self._waiting: asyncio.PriorityQueue[tuple[int, QueuedEvent | None]] = asyncio.PriorityQueue()
        """By turn, the smallest first; no two are equal."""
        self._last = 0

    def __len__(self) -> int:
        return self._waiting.qsize()

    def add(self, submission: QueuedEvent | None) -> None:
        """It comes after those that are here, and background work after some that are not."""
        self._last += 2
        background = submission is not None and isinstance(submission.event, Continue)
        self._waiting.put_nowait((self._last + (2 * PATIENCE + 1 if background else 0), submission))

    async def take(self) -> QueuedEvent | None:
        """The next one; what comes in at the last moment still goes before background work."""
        turn, submission = await self._waiting.get()
        if submission is not None and isinstance(submission.event, Continue):
            for _ in range(ROUNDS_BEFORE_BACKGROUND):
                await asyncio.sleep(0)
            self._waiting.put_nowait((turn, submission))
            _, submission = self._waiting.get_nowait()
        return submission
