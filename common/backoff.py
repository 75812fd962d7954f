"""Pause before the next term after one that failed, so that another process can be active meanwhile."""

FIRST_SECONDS = 0.5
MAX_SECONDS = 60.0


class Backoff:
    """A pause that doubles with each term, until a term serves requests."""

    def __init__(self) -> None:
        self._seconds = FIRST_SECONDS

    def reset(self) -> None:
        """Start with the first pause again: the term serves requests, so the earlier failures are over."""
        self._seconds = FIRST_SECONDS

    def next_pause(self) -> float:
        """Return the seconds until the next term may begin."""
        seconds, self._seconds = self._seconds, min(2 * self._seconds, MAX_SECONDS)
        return seconds
