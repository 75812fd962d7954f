"""Calls a function at a time of the wall clock."""

import asyncio
from collections.abc import Callable

MAX_SECONDS = 60.0
"""Longest sleep. The wall clock can be set, and a machine can be suspended; a timer notices neither."""


class Alarm:
    """Calls `ring` once, at the time that was set last."""

    def __init__(self, now_ms: Callable[[], int], ring: Callable[[], None]) -> None:
        self._now_ms, self._ring = now_ms, ring
        self._at_ms = 0
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at_ms: int) -> None:
        """Ring at this time, in milliseconds since 1970, and not at an earlier set one."""
        self.cancel()
        self._at_ms = at_ms
        self._sleep()

    def cancel(self) -> None:
        """Do not ring."""
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
            self._ring()
