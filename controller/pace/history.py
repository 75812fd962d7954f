"""What pace measured and did in the last half hour. It is not stored: after a restart it starts over."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controller.pace.pacer import BrokerPace

SAMPLE_MS = 5_000
KEPT_MS = 30 * 60 * 1000


class Point(NamedTuple):
    """Latency and target in ms and effort of a broker; see `BrokerPace`."""

    broker: int
    latency: float | None
    target: float | None
    effort: float | None


class Sample(NamedTuple):
    """The points of all brokers at a time in milliseconds since 1970."""

    time_ms: int
    rows: Sequence[Point]


class History:
    """Keeps a sample every five seconds."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=KEPT_MS // SAMPLE_MS)

    def add(self, now_ms: int, brokers: Iterable[BrokerPace]) -> None:
        """Add a sample if the last one is old enough. Times never decrease, also if the clock is set back."""
        last = self._samples[-1].time_ms if self._samples else None
        if last is not None and 0 <= now_ms - last < SAMPLE_MS:
            return
        rows = [Point(row.broker, row.latency, row.target, row.effort) for row in brokers]
        self._samples.append(Sample(now_ms if last is None else max(now_ms, last + 1), rows))

    def samples(self, since_ms: int = 0) -> list[Sample]:
        """Return the samples after this time, the oldest first."""
        return [sample for sample in self._samples if sample.time_ms > since_ms]
