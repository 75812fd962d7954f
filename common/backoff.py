"""Pauses between attempts that fail."""


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
