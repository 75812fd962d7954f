"""Plain counters, read at each scrape.

prometheus_client's counters would take two to seven times as long (docs/decisions.md), and every request
counts several.
"""

from collections import Counter, defaultdict

from common.error_codes import ErrorCode
from controller.model.audit import AuditAction
from server.progress.rates import Totals

ERRORS = range(-1, 500)
"""Error codes that are counted one by one: Kafka's, and room for further ones."""


class Counters:
    """Implements `server.ports.Stats` by adding. Seconds are totals.

    The driver adds to the numbers of decisions and commits without a call.
    """

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        """By API key."""
        self.errors: Counter[tuple[int, int]] = Counter()
        """By API key and error code."""
        self.timed: Counter[int] = Counter()
        """By API key: the requests in `request_seconds`."""
        self.request_seconds: defaultdict[int, float] = defaultdict(float)
        """By API key, without the time in the socket (Kafka: RequestMetrics.TotalTimeMs)."""
        self.decisions: Counter[str] = Counter()
        """By event type."""
        self.decision_seconds: defaultdict[str, float] = defaultdict(float)
        self.commits = 0
        self.committed_changes = 0
        """Durable changes, in all commits."""
        self.commit_seconds = 0.0
        """From the hand-over to the store until the changes are durable."""
        self.audited: Counter[str] = Counter({action.value: 0 for action in AuditAction})
        """Entries of the audit log by action."""
        self.copied = Totals()
        self.connections = 0
        self.loop_lag_seconds = 0.0
        """The last measured value."""

    def request(self, api_key: int, error_code: int, seconds: float | None = None) -> None:
        self.requests[api_key] += 1
        if error_code:
            # A broker's answer that passes here can have any number.
            self.errors[api_key, error_code if error_code in ERRORS else ErrorCode.UNKNOWN_SERVER_ERROR] += 1
        if seconds is not None:
            self.timed[api_key] += 1
            self.request_seconds[api_key] += seconds

    def loop_lag(self, seconds: float) -> None:
        self.loop_lag_seconds = seconds

    def connection(self, change: int) -> None:
        self.connections += change
