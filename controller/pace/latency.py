"""Latencies of one probe: those of the last seconds, and those without a move (the idle level).

The mean of the last few seconds shows a slow broker soon, also one that delays few requests by much, because
it copies in bursts. A high quantile of a longer time shows rare slow requests, of which there are too few in
a few seconds.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import NamedTuple

SHORT_SECONDS = 3.0
MOST_TIMES = 5.0
"""A latency counts as this multiple of the idle mean at most in a mean, so that a single request decides
nothing."""
LONG_SECONDS = 30.0
LONG_QUANTILE = 0.98
ENOUGH_SHORT = 6
"""Latencies without which the short window says nothing."""
ENOUGH_LONG = 100
IDLE_SECONDS = 120.0
"""How many seconds without a move are kept."""
ENOUGH_IDLE = 12
FALLEN = 1.3
"""The idle level is too high if latencies during a move are below it by this factor."""
LEAST_MS = 0.05
"""A level below this is measured as this one: clocks are not more exact."""

Rows = deque[tuple[float, Sequence[float]]]


class Levels(NamedTuple):
    """The mean of the short window and the quantile of the long one, in ms."""

    short: float
    long: float


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value below which this share of the values lies. There must be one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class LatencyWindow:
    """The latencies of one probe, in ms."""

    def __init__(self) -> None:
        self._recent: Rows = deque()
        self._idle: Rows = deque()
        self._idle_levels: Levels | None = None

    def add(self, at: float, latencies: Sequence[float], *, idle: bool) -> None:
        """Add the latencies of a second; `idle` if nothing moved at its brokers."""
        if not latencies:
            return
        self._recent.append((at, latencies))
        _drop(self._recent, at - LONG_SECONDS)
        if idle:
            self._idle.append((at, latencies))
            # Seconds of a move are no idle ones, so the window is counted in rows and not in time.
            if len(self._idle) > IDLE_SECONDS:
                self._idle.popleft()
            self._idle_levels = None

    def forget_recent(self) -> None:
        """Judge the next seconds alone, because the load of the brokers has changed."""
        self._recent.clear()

    @property
    def needs_more(self) -> bool:
        """Whether there are some recent latencies, but too few for an idle level."""
        return 0 < self._recent_count < ENOUGH_IDLE

    @property
    def _recent_count(self) -> int:
        return sum(len(row) for _, row in self._recent)

    def take_as_idle(self) -> None:
        """Take the recent latencies as those without a move, if there are enough."""
        if self._recent_count >= ENOUGH_IDLE:
            self._idle = deque(self._recent)
            self._idle_levels = None

    def follow_falling_idle(self) -> None:
        """Take the recent latencies as those without a move if they are lower.

        A move makes no request faster.
        """
        values = list(chain.from_iterable(row for _, row in self._recent))
        idle = self.idle
        if idle is not None and len(values) >= ENOUGH_LONG and self._mean(values) * FALLEN < idle.short:
            self.take_as_idle()

    @property
    def idle(self) -> Levels | None:
        """The level without a move; None if too few latencies are known."""
        if self._idle_levels is None:
            values = list(chain.from_iterable(row for _, row in self._idle))
            if len(values) < ENOUGH_IDLE:
                return None
            most = MOST_TIMES * quantile(values, 0.5)
            self._idle_levels = Levels(
                max(LEAST_MS, fmean(min(value, most) for value in values)),
                max(LEAST_MS, quantile(values, LONG_QUANTILE)),
            )
        return self._idle_levels

    def short(self) -> float | None:
        """Return the mean of the last few seconds; None if there are too few latencies.

        In a large cluster, where a probe is rare, the mean is that of more seconds.
        """
        values = list(chain.from_iterable(row for _, row in self._last_rows()))
        return self._mean(values) if len(values) >= ENOUGH_SHORT else None

    def seconds(self) -> float:
        """Return for how many seconds `short` was measured, at least SHORT_SECONDS."""
        rows = self._last_rows()
        return max(SHORT_SECONDS, rows[0][0] - rows[-1][0]) if rows else SHORT_SECONDS

    def _last_rows(self) -> list[tuple[float, Sequence[float]]]:
        """Return the rows of `short`, the newest first."""
        found: list[tuple[float, Sequence[float]]] = []
        count = 0
        for at, row in reversed(self._recent):
            if count >= ENOUGH_SHORT and at <= self._recent[-1][0] - SHORT_SECONDS:
                break
            found.append((at, row))
            count += len(row)
        return found

    def _mean(self, values: Sequence[float]) -> float:
        most = MOST_TIMES * self.idle.short if self.idle is not None else max(values)
        return fmean([min(value, most) for value in values])

    def long(self) -> float | None:
        """Return the higher quantile of the longer time; None if there are too few latencies."""
        values = list(chain.from_iterable(row for _, row in self._recent))
        return quantile(values, LONG_QUANTILE) if len(values) >= ENOUGH_LONG else None


def _drop(rows: Rows, before: float) -> None:
    while rows and rows[0][0] < before:
        rows.popleft()


COMPARE_SECONDS, MOST_SECONDS = 5.0, 20.0
"""A comparison lasts longer than usual if too few latencies were measured: in large clusters each broker has
fewer probes."""
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


ProbeKey = tuple[int, Sequence[int]]
"""The leader of a probe, and its followers."""


class Ratio(NamedTuple):
    """A latency as a multiple of its target, and that of the idle latency. The highest is the slowest."""

    now: float
    idle: float = 0.5
    seconds: float = SHORT_SECONDS
    """For how long the latency was measured."""


def broker_ratios(ratios: Mapping[ProbeKey, Ratio]) -> dict[int, Ratio]:
    """Return the latency of each broker as a multiple of its target, from those of the probes.

    A produce with acks=all waits for the leader and for the followers. A broker is slow if all probes are
    slow in which it takes part. A slow probe whose brokers all have a fast one is the leader's.
    """
    found: dict[int, Ratio] = {}
    for (leader, followers), ratio in ratios.items():
        for broker in (leader, *followers):
            found[broker] = min(found.get(broker, ratio), ratio)
    for (leader, followers), ratio in ratios.items():
        if ratio.now > 1 and all(found[broker].now <= 1 for broker in (leader, *followers)):
            found[leader] = ratio
    return found
