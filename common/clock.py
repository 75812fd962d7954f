"""Time as a parameter: the real clock, and one that tests advance."""

import asyncio
import heapq
import itertools
import math
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds, from an arbitrary start."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""
        ...


def wall_clock() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


async def within(clock: Clock, seconds: float, event: asyncio.Event) -> bool:
    """Wait for the event, at most `seconds`; return whether it is set."""
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
        """See `Clock.now`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""
        await asyncio.sleep(seconds)


class BootClock(RealClock):
    """The clock of the machine that goes on while the machine is suspended, where the system has one."""

    def now(self) -> float:
        """See `Clock.now`."""
        return time.clock_gettime(_BOOT_CLOCK)


_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class ManualClock:
    """A clock that only `advance` moves."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the seconds since the clock was created."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by that time."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), done))
        await done

    async def advance(self, seconds: float) -> None:
        """Advance the clock, and wake sleepers in the order of time.

        Tasks run until all of them wait, before the next is woken. Raises ValueError for a negative or
        endless time.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(f"a clock is advanced by a number of seconds from 0, not {seconds}")
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            self._now, _, done = heapq.heappop(self._sleepers)
            if not done.done():
                done.set_result(None)
                await settle()
        self._now = end


async def settle(rounds: int = 50) -> None:
    """Run the event loop until no task can continue without time or I/O."""
    for _ in range(rounds):
        await asyncio.sleep(0)
