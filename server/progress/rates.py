"""Sizes of replicas, and rates of copied bytes: now, and of the last hour in samples of equal length.

The rates are computed from the measurements of `server.progress.progress`, and not stored: after a restart
they start over.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from math import ceil
from typing import NamedTuple, Protocol

from controller.model.replicas import StoredReplicas, TopicPartition
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from server.counters import TransferTotals

WINDOW_SECONDS = 10.0
"""Shortest time over which a rate is averaged."""

ARRIVALS = 4
"""Intervals with bytes over which a rate is averaged when there are others without bytes in between."""

LONGEST_SECONDS = 300.0
"""Longest time over which a rate is averaged."""


class Sizes(Protocol):
    """Known sizes of replicas.

    Called very often: all but `describe` must be fast and must not send requests.
    """

    def size(self, key: TopicPartition) -> int | None:
        """Return the bytes of the leader's replica, which a copy has when complete; None if unknown."""
        ...

    def stored(self, key: TopicPartition) -> StoredReplicas | None:
        """Return what the brokers report of their own replicas; None if nothing is known."""
        ...

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Return the bytes that the broker has of an adding replica; None if unknown."""
        ...

    def received(self, key: TopicPartition) -> tuple[float, float] | None:
        """Return the bytes of all adding replicas and the time of this size in seconds; None if unknown."""
        ...

    def measured(self) -> float | None:
        """Return the time of the last complete measurement in seconds; None before the first one."""
        ...

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
        """Ask the broker for its directories now; None if it does not answer."""
        ...


class _Interval(NamedTuple):
    seconds: float
    moved: int


class Meter:
    """The rate of a job or a broker over the last `WINDOW_SECONDS` or more in which steps were in flight.

    Time before the first step and during a pause does not count. A gap between two steps does. Under a low
    throttle, Kafka copies in bursts that are further apart than the window. Then the rate is that from one
    burst to another.
    """

    def __init__(self) -> None:
        self._intervals: deque[_Interval] = deque()
        """The intervals since the first step, or the last pause. There are few: those without bytes are
        joined."""

    def add(self, seconds: float, moved: int, moving_before: bool, moving_now: bool) -> None:
        """Add an interval: its bytes, and whether a step was in flight at its start and at its end."""
        intervals = self._intervals
        if moving_before or (intervals and (moved or moving_now)):
            if intervals and not moved and not intervals[-1].moved:
                seconds += intervals.pop().seconds
            intervals.append(_Interval(seconds, moved))
            while self._is_enough_without_first():
                intervals.popleft()
        elif not moving_now:
            intervals.clear()

    def __bool__(self) -> bool:
        """Whether data was copied since the last pause."""
        return bool(self._intervals)

    @property
    def rate(self) -> float | None:
        """Bytes per second; None before `WINDOW_SECONDS` were measured.

        Silence before the first bytes does not count.
        """
        intervals = self._intervals
        seconds = _seconds(intervals)
        if seconds < WINDOW_SECONDS:
            return None
        arrivals = [place for place, each in enumerate(intervals) if each.moved]
        if len(arrivals) in (0, len(intervals)):
            return sum(each.moved for each in intervals) / seconds
        return None if len(arrivals) == 1 else self._rate_of_bursts(arrivals[0], arrivals[-1], len(arrivals))

    def _rate_of_bursts(self, first: int, last: int, bursts: int) -> float | None:
        """Return the rate from the first burst to the last.

        How long the first one was on its way is not known.
        """
        after = list(self._intervals)[first + 1 :]
        moved, passed = sum(each.moved for each in after), _seconds(after[: last - first])
        silent, gap = _seconds(after) - passed, passed / (bursts - 1)
        if passed + silent < WINDOW_SECONDS:
            return None
        if silent >= max(WINDOW_SECONDS, 3 * gap):
            return 0.0
        # The next burst is overdue after more than a mean gap.
        return moved / (passed + max(0.0, silent - gap))

    def _is_enough_without_first(self) -> bool:
        rest = list(self._intervals)[1:]
        seconds, arrivals = _seconds(rest), sum(each.moved > 0 for each in rest)
        enough = arrivals == len(rest) or arrivals >= ARRIVALS or seconds >= LONGEST_SECONDS
        return seconds >= WINDOW_SECONDS and enough


def _seconds(intervals: "deque[_Interval] | list[_Interval]") -> float:
    return sum(each.seconds for each in intervals)


def seconds_left(left: int, rate: float | None) -> int | None:
    """Return the time that so many bytes take at this rate; None without a rate."""
    return ceil(left / rate) if rate else None


def rounded(rate: float | None) -> int | None:
    """Return the rate as a whole number of bytes per second."""
    return None if rate is None else round(rate)


SAMPLE_SECONDS = 15.0
KEPT_SECONDS = 3600.0


class Transfer(NamedTuple):
    """Bytes that brokers received and sent in some time, and the brokers for which that is not known."""

    received: Counter[int]
    sent: Counter[int]
    unknown_in: Set[int] = frozenset()
    unknown_out: Set[int] = frozenset()


class ThroughputSample(NamedTuple):
    """Bytes per second until `time_ms`. Brokers without traffic are absent."""

    time_ms: int
    throttle: int | None
    incoming: dict[int, int | None]
    """None: not known."""
    outgoing: dict[int, int | None]


class ThroughputHistory:
    """Keeps the samples.

    Times are in seconds of the clock of the measurements. Bytes are added to `totals` too.
    """

    def __init__(self, now_ms: Callable[[], int], totals: TransferTotals | None = None) -> None:
        self._now_ms = now_ms
        self.totals = totals or TransferTotals()
        self._samples: deque[ThroughputSample] = deque(maxlen=int(KEPT_SECONDS / SAMPLE_SECONDS))
        self._seconds = 0.0
        self._received, self._sent = Counter[int](), Counter[int]()
        self._unknown_in, self._unknown_out = set[int](), set[int]()

    def add(self, seconds: float, copied: Transfer, throttle: int | None) -> None:
        """Add the bytes of an interval. When it completes a sample, `throttle` is the one in force."""
        self._seconds += seconds
        self._received.update(copied.received)
        self._sent.update(copied.sent)
        self.totals.received.update(copied.received)
        self.totals.sent.update(copied.sent)
        self._unknown_in |= copied.unknown_in
        self._unknown_out |= copied.unknown_out
        if self._seconds >= SAMPLE_SECONDS:
            incoming = self._rates(self._received, self._unknown_in)
            outgoing = self._rates(self._sent, self._unknown_out)
            self._samples.append(ThroughputSample(self._now_ms(), throttle, incoming, outgoing))
            self._seconds = 0.0
            for counted in (self._received, self._sent, self._unknown_in, self._unknown_out):
                counted.clear()

    def samples(self, since_ms: int = 0) -> list[ThroughputSample]:
        """Return the samples after this time, the oldest first."""
        return [sample for sample in self._samples if sample.time_ms > since_ms]

    def newest(self, max_age_ms: int) -> ThroughputSample | None:
        """Return the last sample; None if there is none, or it is older."""
        last = self._samples[-1] if self._samples else None
        return last if last is not None and last.time_ms >= self._now_ms() - max_age_ms else None

    def _rates(self, moved: Counter[int], unknown: Iterable[int]) -> dict[int, int | None]:
        known: dict[int, int | None] = {
            broker: round(size / self._seconds) for broker, size in moved.items() if size
        }
        return known | dict.fromkeys(unknown)
