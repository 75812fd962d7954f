"""The throughput of reassignments in the last hour, by broker, in samples of equal length.

It is computed from the measurements of `server.api.services.progress`. It is not stored: after a restart it begins
anew.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

SAMPLE_SECONDS = 15.0
KEPT_SECONDS = 3600.0


class Copied(NamedTuple):
    """Bytes that brokers received and sent in some time, and the brokers for which that is not known."""

    received: Counter[int]
    sent: Counter[int]
    unknown_in: Set[int] = frozenset()
    unknown_out: Set[int] = frozenset()


class Sample(NamedTuple):
    """Bytes per second until `time_ms`. Brokers without traffic are absent."""

    time_ms: int
    throttle: int | None
    incoming: dict[int, int | None]
    """None: not known."""
    outgoing: dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Totals:
    """Bytes by broker since the start of the process. They only grow."""

    received: Counter[int] = field(default_factory=Counter)
    sent: Counter[int] = field(default_factory=Counter)


class Throughput:
    """Keeps the samples. Times are in seconds of the clock of the measurements. Bytes are added to `totals` too."""

    def __init__(self, now_ms: Callable[[], int], totals: Totals | None = None) -> None:
        self._now_ms = now_ms
        self.totals = totals or Totals()
        self._samples: deque[Sample] = deque(maxlen=int(KEPT_SECONDS / SAMPLE_SECONDS))
        self._seconds = 0.0
        self._received, self._sent = Counter[int](), Counter[int]()
        self._unknown_in, self._unknown_out = set[int](), set[int]()

    def add(self, seconds: float, copied: Copied, throttle: int | None) -> None:
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
            self._samples.append(Sample(self._now_ms(), throttle, incoming, outgoing))
            self._seconds = 0.0
            for counted in (self._received, self._sent, self._unknown_in, self._unknown_out):
                counted.clear()

    def samples(self, since_ms: int = 0) -> list[Sample]:
        """Return the samples after this time, the oldest first."""
        return [sample for sample in self._samples if sample.time_ms > since_ms]

    def _rates(self, moved: Counter[int], unknown: Iterable[int]) -> dict[int, int | None]:
        known: dict[int, int | None] = {
            broker: round(size / self._seconds) for broker, size in moved.items() if size
        }
        return known | dict.fromkeys(unknown)
