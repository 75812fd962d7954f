"""Comparisons: short times in which all brokers move as little as possible, to measure the latency without the move."""

from collections.abc import Collection

from controller.pace.window import LatencyWindow

COMPARE_SECONDS, MOST_SECONDS = 5.0, 20.0
"""A comparison lasts longer than usual if too few latencies were measured: in large clusters each broker has fewer probes."""
SETTLE_SECONDS = 2.0
"""The part of a comparison in which the move slows down, and which is not measured."""
FIRST_PAUSE, LAST_PAUSE = 60.0, 600.0
"""Seconds between two comparisons: doubled while the idle level remains the same."""
LEAST_PAUSE = 20.0
SAME_LEVEL = 1.5
NEVER = float("inf")


class Comparisons:
    """When to compare. Times are monotonic, in seconds."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._next, self._ended = NEVER, float("-inf")
        self._pause = FIRST_PAUSE
        self._unknown_pause = LEAST_PAUSE
        """Until the next attempt if an idle level is not known."""

    @property
    def running(self) -> bool:
        """Whether a comparison takes place."""
        return self._began is not None

    def request(self, now: float) -> None:
        """Compare soon, because the idle level may have changed."""
        self._next = min(self._next, max(now, self._ended + LEAST_PAUSE))

    def follow(self, now: float, windows: Collection[LatencyWindow]) -> bool:
        """Begin a comparison if it is time or an idle level is not known, and end it.

        Return whether one has ended that has found another idle level.
        """
        may = now - self._ended >= self._unknown_pause
        if self._began is not None:
            lasted = now - self._began
            needs_more = lasted < MOST_SECONDS and any(window.needs_more for window in windows)
            if lasted >= COMPARE_SECONDS and not needs_more:
                return self._finish(now, windows)
            if lasted < SETTLE_SECONDS:
                _forget_recent(windows)
        elif now >= self._next or (may and any(window.idle is None for window in windows)):
            self._began = now
            _forget_recent(windows)
        elif self._next == NEVER:
            self._next = now + self._pause
        return False

    def give_up(self, now: float, windows: Collection[LatencyWindow]) -> None:
        """End the comparison, if there is one, without a result: the brokers do not move little any more."""
        if self._began is not None:
            self._began, self._ended, self._next = None, now, NEVER
            _forget_recent(windows)

    def _finish(self, now: float, windows: Collection[LatencyWindow]) -> bool:
        changed = unknown = False
        for window in windows:
            before = window.idle
            window.take_as_idle()
            after = window.idle
            if after is None:
                unknown = True
            elif before is None:
                changed = True
            else:
                low, high = sorted((before.short, after.short))
                changed |= high > SAME_LEVEL * low
        self._pause = FIRST_PAUSE if changed else min(2 * self._pause, LAST_PAUSE)
        self._unknown_pause = min(2 * self._unknown_pause, LAST_PAUSE) if unknown else LEAST_PAUSE
        self._began, self._ended, self._next = None, now, now + self._pause
        _forget_recent(windows)
        return changed


def _forget_recent(windows: Collection[LatencyWindow]) -> None:
    for window in windows:
        window.forget_recent()
