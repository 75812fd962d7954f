"""The lease of the active instance: how long it may still answer and send. The permit for steps."""

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


class StepPermit:
    """Tells whether steps and other writes may be sent to the upstream: only with a valid lease, from a time on."""

    def __init__(self, lease: Lease, clock: Clock, steps_from: float) -> None:
        self._lease, self._clock, self._from = lease, clock, steps_from
        self._ended = False

    def __call__(self) -> bool:
        """Return whether a write may be sent now."""
        return not self._ended and self._lease.valid and self._clock.now() >= self._from

    def end(self) -> None:
        """Permit nothing more."""
        self._ended = True
