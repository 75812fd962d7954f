"""Counters of the requests to the upstream, for the metrics page."""

from collections import Counter
from collections.abc import Iterable

from backends.client.errors import BrokerError, InDoubtError, UnreachableError
from backends.upstream.rows import Answered


class UpstreamCounters:
    """Implements `server.metrics.sources.UpstreamCounters` by adding."""

    def __init__(self) -> None:
        self.polls = 0
        self.failed_polls = 0
        self.poll_seconds = 0.0
        self.last_poll_ms = 0
        self.errors: Counter[tuple[int, str]] = Counter()
        self.rows: Counter[int] = Counter()
        self.held = 0

    def polled(self, seconds: float, now_ms: int) -> None:
        """Count a successful poll of this duration that ended at `now_ms` (since 1970)."""
        self.polls += 1
        self.poll_seconds += seconds
        self.last_poll_ms = now_ms

    def failed(self, api_key: int, error: BrokerError) -> None:
        """Count a request that no broker answered."""
        self.errors[api_key, _kind(error)] += 1

    def answered(self, rows: Iterable[Answered]) -> None:
        """Count the rows of an answer by their error."""
        self.rows.update(int(outcome.error) for _, _, outcome in rows)


def _kind(error: BrokerError) -> str:
    if isinstance(error, InDoubtError):
        return "in_doubt"
    return "unreachable" if isinstance(error, UnreachableError) else "other"
