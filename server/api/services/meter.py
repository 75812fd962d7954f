"""Rates of copied bytes, over the time in which data was copied."""

from collections import deque
from math import ceil

WINDOW_SECONDS = 10.0
"""Shortest time over which a rate is averaged."""


class Meter:
    """The rate of a job or a broker over the last `WINDOW_SECONDS` in which steps were in flight.

    Time before the first step and during a pause does not count. A gap between two steps does.
    """

    def __init__(self) -> None:
        self._intervals: deque[tuple[float, int]] = deque()
        """Seconds and bytes of the intervals since the first step, or the last pause."""

    def add(self, seconds: float, moved: int, moving_before: bool, moving_now: bool) -> None:
        """Add an interval: its bytes, and whether a step was in flight at its start and at its end."""
        intervals = self._intervals
        if moving_before or (intervals and (moved or moving_now)):
            intervals.append((seconds, moved))
            while self._seconds() - intervals[0][0] >= WINDOW_SECONDS:
                intervals.popleft()
        elif not moving_now:
            intervals.clear()

    def __bool__(self) -> bool:
        """Whether data was copied since the last pause."""
        return bool(self._intervals)

    @property
    def rate(self) -> float | None:
        """Bytes per second; None before `WINDOW_SECONDS` were measured."""
        seconds = self._seconds()
        return sum(moved for _, moved in self._intervals) / seconds if seconds >= WINDOW_SECONDS else None

    def _seconds(self) -> float:
        return sum(seconds for seconds, _ in self._intervals)


def seconds_left(left: int, rate: float | None) -> int | None:
    """Return the time that so many bytes take at this rate; None without a rate."""
    return ceil(left / rate) if rate else None


def rounded(rate: float | None) -> int | None:
    """Return the rate as a whole number of bytes per second."""
    return None if rate is None else round(rate)
