"""How long to keep out of office after a term that came to nothing, so that a broker can be the controller meanwhile."""

FIRST_SECONDS = 0.5
MOST_SECONDS = 60.0


class Backoff:
    """The pause doubles from term to term, until one serves."""

    def __init__(self) -> None:
        self._seconds = FIRST_SECONDS

    def reset(self) -> None:
        """The term has begun to serve: what ends it is not what ended those before."""
        self._seconds = FIRST_SECONDS

    def next_pause(self) -> float:
        """Seconds until the next candidature."""
        seconds, self._seconds = self._seconds, min(2 * self._seconds, MOST_SECONDS)
        return seconds
