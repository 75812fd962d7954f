"""The clock by which history is too old.

What is deleted because of a wrong clock does not come back. So nothing is too old until the wall clock has agreed with
the monotonic clock for a day, from the start of the process or from a jump on: time for NTP, or for an operator.
"""

import logging
from collections.abc import Callable

from common.clock import Clock, wall_clock

log = logging.getLogger(__name__)

JUMP_SECONDS = 60.0
"""A smaller step between two calls is a correction."""

TRUSTED_AFTER_SECONDS = 24 * 3600.0


class AgeClock:
    """Returns milliseconds since 1970 for the comparison with an age of at most `retention_ms`; 0 when not trusted.

    A retention that is shorter than a day is also the time until the clock is trusted.
    """

    def __init__(self, retention_ms: int, clock: Clock, wall_ms: Callable[[], int] = wall_clock) -> None:
        self._clock, self._wall_ms = clock, wall_ms
        self._wait = min(TRUSTED_AFTER_SECONDS, retention_ms / 1000)
        self._since = clock.now()
        self._offset = self._difference()

    def _difference(self) -> float:
        return self._wall_ms() / 1000 - self._clock.now()

    def __call__(self) -> int:
        """Return the time. Called once a minute or so."""
        offset, before = self._difference(), self._offset
        self._offset = offset
        if abs(offset - before) > JUMP_SECONDS:
            self._since = self._clock.now()
            log.warning(
                "the clock has jumped by %.0f s: no job and no audit entry is deleted for its age for %.0f s",
                offset - before,
                self._wait,
            )
        return self._wall_ms() if self._clock.now() - self._since >= self._wait else 0
