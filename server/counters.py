"""Plain counters, read at each scrape.

The counters of `prometheus_client` would take two to seven times as long (docs/decisions.md), and every
request counts several.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from common.error_codes import ErrorCode
from controller.model.audit import AuditAction
from protocol.apis import OTHER_API

ERRORS = range(-1, 500)
"""Error codes that are counted one by one: Kafka's, and room for further ones."""


@dataclass(frozen=True, slots=True)
class TransferTotals:
    """Bytes by broker since the start of the process. They only grow."""

    received: Counter[int] = field(default_factory=Counter)
    sent: Counter[int] = field(default_factory=Counter)


class Counters:
    """What is counted of requests, decisions and connections. Seconds are totals.

    It is called on the hot path. The driver adds to the numbers of decisions and commits without a call.
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
        self.copied = TransferTotals()
        self.connections = 0
        self.loop_lag_seconds = 0.0
        """The last measured value."""

    def request(self, api_key: int, error_code: int, seconds: float | None = None) -> None:
        """Count a response. `error_code` is its top-level error code, 0 if it has none.

        `seconds` is the time from the complete request to the encoded response; None if it was not measured.
        """
        self.requests[api_key] += 1
        if error_code:
            # A broker's answer that passes here can have any number.
            self.errors[api_key, error_code if error_code in ERRORS else ErrorCode.UNKNOWN_SERVER_ERROR] += 1
        if seconds is not None:
            self.timed[api_key] += 1
            self.request_seconds[api_key] += seconds

    def loop_lag(self, seconds: float) -> None:
        """Record the delay of a timer of the event loop."""
        self.loop_lag_seconds = seconds

    def connection(self, change: int) -> None:
        """Count an opened (+1) or closed (-1) connection."""
        self.connections += change


COUNTED = range(256)
"""API keys that are counted one by one: Kafka's, and room for further ones. Clients can send any number
before they log in, and what is counted once is in every scrape from then on."""


class RelayCounters:
    """Counters by API key; keys that no API has count as OTHER_API.

    Bytes include whole frames and are counted when a frame starts to pass.
    """

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.bytes_in: Counter[int] = Counter()
        """Bytes from clients."""
        self.bytes_out: Counter[int] = Counter()
        """Bytes of the brokers' answers, before they are changed."""
        self.hidden_brokers: set[int] = set()
        """Brokers that clients do not see at present, because their ports cannot be opened. Each was
        logged."""

    def request(self, api_key: int, size: int) -> None:
        """Count a request of `size` bytes."""
        counted = api_key if api_key in COUNTED else OTHER_API
        self.requests[counted] += 1
        self.bytes_in[counted] += size

    def answer(self, api_key: int, size: int) -> None:
        """Count a broker's answer of `size` bytes."""
        self.bytes_out[api_key if api_key in COUNTED else OTHER_API] += size
