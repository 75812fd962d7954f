"""Pauses between attempts that fail: one of fixed length, or one that grows."""

RETRY_SOON_SECONDS = 0.1
"""Where others wait for the attempt, such as a request to a broker."""
RETRY_SECONDS = 0.5
"""To open a connection, or to be elected."""
RETRY_LATER_SECONDS = 1.0
"""Where the other side has to come back first."""
RETRY_RARELY_SECONDS = 5.0
"""Where nobody waits."""


class Backoff:
    """A pause that doubles with each failure in a row, from `first` to `longest` seconds."""

    def __init__(self, first: float = 0.5, longest: float = 60.0) -> None:
        self._first, self._longest = first, longest
        self._seconds = first

    def reset(self) -> None:
        """Start with the first pause again: an attempt has succeeded."""
        self._seconds = self._first

    def next_pause(self) -> float:
        """Return the seconds until the next attempt."""
        seconds, self._seconds = self._seconds, min(2 * self._seconds, self._longest)
        return seconds
