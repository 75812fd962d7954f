"""The queue of submitted events, and the alarm that submits one at a time of the wall clock.

First in, first out, except that background work lets other events pass.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from common.tasks import wait_while
from controller.messages.event import AnyEvent
from controller.messages.events import Continue

ROUNDS_BEFORE_BACKGROUND = 6
"""Iterations of the event loop that the queue waits before it returns background work.

A reply that is ready needs some of them to reach the socket. asyncio has neither priorities nor a callback
for an idle loop, and a timer would slow down long plans, so the queue counts iterations."""

PASSES = 100
"""Events that pass background work although they were submitted later. More would let it starve."""

PATIENCE_SECONDS = 0.5
"""How long background work waits for a busy worker thread. The list of a million partitions takes about a
second without it, and several times as long beside it."""


class QueuedEvent(NamedTuple):
    """An event and the future of its reply; None if nobody waits for one."""

    event: AnyEvent
    reply: asyncio.Future[Any] | None
    """Of the type that the event declares (`Event[Reply]`), which `Driver.submit` and `Decision.answer`
    check."""


class EventQueue:
    """The events that wait for their decision. None marks the end of the queue."""

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        self.is_busy = is_busy
        """Whether requests need the interpreter lock in another thread."""
        self._events: asyncio.PriorityQueue[tuple[int, QueuedEvent | None]] = asyncio.PriorityQueue()
        """(position, event), the smallest position first; positions are unique."""
        self._last = 0

    def __len__(self) -> int:
        return self._events.qsize()

    def add(self, queued: QueuedEvent | None) -> None:
        """Add an event at the end; background work behind the next `PASSES` events too."""
        # Positions of other events are even, those of background work odd: so no two are equal.
        self._last += 2
        background = queued is not None and isinstance(queued.event, Continue)
        self._events.put_nowait((self._last + (2 * PASSES + 1 if background else 0), queued))

    async def take(self) -> QueuedEvent | None:
        """Wait for the next event and remove it.

        An event that arrives meanwhile still passes background work.
        """
        position, queued = await self._events.get()
        if queued is not None and isinstance(queued.event, Continue):
            await self.let_replies_pass(lambda: self._events.empty() and self.is_busy())
            self._events.put_nowait((position, queued))
            _, queued = self._events.get_nowait()
        return queued

    async def let_replies_pass(self, is_busy: Callable[[], bool] | None = None) -> None:
        """Wait until replies that are ready have left, and `is_busy` or the queue's own is False."""
        for _ in range(ROUNDS_BEFORE_BACKGROUND):
            await asyncio.sleep(0)
        await wait_while(is_busy or self.is_busy, PATIENCE_SECONDS)


MAX_SECONDS = 60.0
"""Longest sleep. The wall clock can be set, and a machine can be suspended; a timer notices neither."""


class Alarm:
    """Calls `notify` once, at the time that was set last."""

    def __init__(self, now_ms: Callable[[], int], notify: Callable[[], None]) -> None:
        self._now_ms, self._notify = now_ms, notify
        self._at_ms = 0
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at_ms: int) -> None:
        """Set the time, in milliseconds since 1970. It replaces an earlier one."""
        self.cancel()
        self._at_ms = at_ms
        self._sleep()

    def cancel(self) -> None:
        """Set no time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sleep(self) -> None:
        left = (self._at_ms - self._now_ms()) / 1000
        if left > 0:
            sleep = min(left, MAX_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(sleep, self._sleep)
        else:
            self._timer = None
            self._notify()
