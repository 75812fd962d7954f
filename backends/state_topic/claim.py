"""The claim, the record by which an instance becomes the active one, and its lease.

How long it may answer and send.
"""

from math import inf

import msgspec

from common.clock import Clock
from common.json.models import decode_foreign
from protocol.record_batch import BatchRecord, Producer

CLAIM_KEY = b'["claim"]'


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Who is active. The newest claim in the log is valid."""

    instance: str
    """The id of the process; a new one at each start."""
    term: int
    """Increases with each claim. It is the epoch of the controller."""
    producer_id: int
    producer_epoch: int
    replaces: tuple[int, int] | None
    """Producer id and epoch of the claim that was valid when this one was written; None if there was none."""
    session_ms: int
    peer: str = ""
    """Address at which the active instance accepts requests that standbys forward."""
    url: str = ""
    """Address of its HTTP API."""
    version: str = ""
    released: bool = False
    """The instance has ended its term: a standby need not wait for a session."""

    @property
    def producer(self) -> Producer:
        """The producer whose batches are valid during the term."""
        return Producer(self.producer_id, self.producer_epoch)

    def follows(self, last: "Claim | None") -> bool:
        """Tell whether this claim is valid after `last`.

        Within a producer id the broker orders the epochs, and refuses the batches of the older one. An id is
        replaced when its epochs are used up or when the coordinator has forgotten it. The new id fences
        nobody; therefore its claim must name the last one, so of two such claims at the same time only the
        first is valid.
        """
        if last is None or last.producer == self.producer:
            return True
        if last.producer_id == self.producer_id:
            return self.producer_epoch > last.producer_epoch
        return self.replaces == last.producer

    def encode(self) -> BatchRecord:
        """Return the record of the claim."""
        return BatchRecord(CLAIM_KEY, msgspec.json.encode(self))


_CLAIM = msgspec.json.Decoder(Claim)


def decode_claim(value: bytes) -> Claim | None:
    """Return the claim, or None if the value is no claim: a foreign batch can have any bytes."""
    try:
        return decode_foreign(value, _CLAIM)
    except msgspec.DecodeError:
        return None


class Lease:
    """Valid for some seconds from the sending of the last batch that was acknowledged.

    The time before the sending counts, because a standby starts its session when it reads the batch, which is
    later.
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
    """Tells whether steps and other writes may be sent to the upstream.

    They may with a valid lease, from a time on.
    """

    def __init__(self, lease: Lease, clock: Clock, steps_from: float) -> None:
        self._lease, self._clock, self._from = lease, clock, steps_from
        self._ended = False

    def __call__(self) -> bool:
        """Return whether a write may be sent now."""
        return not self._ended and self._lease.valid and self._clock.now() >= self._from

    def end(self) -> None:
        """Permit nothing more."""
        self._ended = True
