"""Counters of relayed requests and bytes, for the metrics page."""

from collections import Counter


class RelayCounters:
    """Counters by API key. Bytes include whole frames and are counted when a frame starts to pass."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.bytes_in: Counter[int] = Counter()
        """Bytes from clients."""
        self.bytes_out: Counter[int] = Counter()
        """Bytes of the brokers' answers, before they are changed."""
        self.hidden_brokers: set[int] = set()
        """Brokers that clients do not see at present, because their ports cannot be opened. Each was logged."""

    def request(self, api_key: int, size: int) -> None:
        """Count a request of `size` bytes."""
        self.requests[api_key] += 1
        self.bytes_in[api_key] += size

    def answer(self, api_key: int, size: int) -> None:
        """Count a broker's answer of `size` bytes."""
        self.bytes_out[api_key] += size
