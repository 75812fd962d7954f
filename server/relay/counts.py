"""What went through the gateway, for the metrics page to read."""

from collections import Counter


class Counts:
    """Counters by API key; bytes are those of whole frames, counted when a frame begins to pass."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.bytes_in: Counter[int] = Counter()
        """From clients."""
        self.bytes_out: Counter[int] = Counter()
        """To clients, as the upstream sent them."""

    def request(self, api_key: int, size: int) -> None:
        """A request of so many bytes."""
        self.requests[api_key] += 1
        self.bytes_in[api_key] += size

    def answer(self, api_key: int, size: int) -> None:
        """The upstream's answer to one."""
        self.bytes_out[api_key] += size
