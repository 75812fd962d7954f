"""The lease of the active instance: how long it may still answer and send."""

from math import inf

from common.clock import Clock


class Lease:
    """Valid for some seconds from the sending of the last batch that was acknowledged.

    The time before the sending counts, because a standby starts its session when it reads the batch, which is later.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._until = -inf

    @property
    def valid(self) -> bool:
        """Whether this instance is certainly the only active one now."""
        return self._clock.now() < self._until

    def renew(self, sent: float) -> None:
        """Extend the lease for a batch that was sent at `sent` and is acknowledged."""
        self._until = max(self._until, sent + self._seconds)

    @property
    def seconds_left(self) -> float:
        """How long the lease is still valid; at most 0 without one."""
        return self._until - self._clock.now()

    def end(self) -> None:
        """End the lease at once, and for good."""
        self._until = -inf
        self._seconds = -inf
