"""Time as a parameter: the real clock, and one that tests move by hand."""

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds, from an arbitrary start."""

    def now(self) -> float:
        """The time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


async def within(clock: Clock, seconds: float, event: asyncio.Event) -> bool:
    """Wait for the event, but no longer than that; whether it came."""
    tasks = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return event.is_set()


class RealClock:
    """The monotonic clock of the machine."""

    def now(self) -> float:
        """Seconds since some start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)


class ManualClock:
    """Stands still until `advance` is called."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was advanced that far."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), done))
        await done

    async def advance(self, seconds: float) -> None:
        """Wake whoever sleeps in that time, one moment after the other; each runs until all wait again."""
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            self._now, _, done = heapq.heappop(self._sleepers)
            if not done.done():
                done.set_result(None)
                await settle()
        self._now = end


async def settle(rounds: int = 50) -> None:
    """Let every task that can go on without time or I/O do so."""
    for _ in range(rounds):
        await asyncio.sleep(0)
