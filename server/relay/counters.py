"""Counters of relayed requests and bytes, for the metrics page."""

from collections import Counter

from protocol.apis import OTHER_API

COUNTED = range(256)
"""API keys that are counted one by one: Kafka's, and room for further ones. Clients can send any number before they
log in, and what is counted once is in every scrape from then on."""


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
        """Brokers that clients do not see at present, because their ports cannot be opened. Each was logged."""

    def request(self, api_key: int, size: int) -> None:
        """Count a request of `size` bytes."""
        counted = api_key if api_key in COUNTED else OTHER_API
        self.requests[counted] += 1
        self.bytes_in[counted] += size

    def answer(self, api_key: int, size: int) -> None:
        """Count a broker's answer of `size` bytes."""
        self.bytes_out[api_key if api_key in COUNTED else OTHER_API] += size
