"""What this instance tells about itself, and what it hears of the others.

The API, the metrics and `/readyz` show it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import History
from backends.state_topic.writer import WriteCounts
from common.clock import wall_clock
from common.json.models import decode_foreign
from reassignd.config.version import __version__
from server.api.shared.process import InstanceRow

FORGET_MS = 10_000
"""A standby that was not heard for this time is not listed; it sends a status once per second."""

MOST_STANDBYS = 100
ANSWER_SECONDS = 0.2
"""A hand-over begins this long after the request, so that its answer is sent before."""


class Status(msgspec.Struct, frozen=True):
    """What a standby sends to the active instance."""

    version: str
    url: str
    started_ms: int
    lag: int


_STATUS = msgspec.json.Decoder(Status)


@dataclass
class Presence:
    """Implements `server.api.shared.process.Instances` and `server.metrics.sources.InstanceNumbers`.

    `history` returns the present one, `lease` that of the term of this instance, and `end_term` ends the
    term.
    """

    instance: str
    url: str
    history: Callable[[], History]
    lease: Callable[[], Lease | None]
    end_term: Callable[[], object]
    now_ms: Callable[[], int] = wall_clock

    def __post_init__(self) -> None:
        self.writes = WriteCounts()
        self.changes = 0
        self.active_since_ms = 0
        self.earlier_late_rows = 0
        """See `InstanceNumbers.earlier_late_rows`."""
        self._started_ms = self.now_ms()
        self._last = ""
        """The id of the last active instance."""
        self._heard: dict[str, tuple[int, Status]] = {}
        """When the last status of a standby came, and the status, by id."""

    @property
    def active(self) -> bool:
        """See `InstanceNumbers.active`."""
        lease = self.lease()
        return lease is not None and lease.valid

    @property
    def lease_seconds(self) -> float:
        """See `InstanceNumbers.lease_seconds`."""
        lease = self.lease()
        return 0.0 if lease is None else max(0.0, lease.seconds_left)

    @property
    def lag(self) -> int:
        """See `InstanceNumbers.lag`."""
        return self.history().lag

    @property
    def batches(self) -> int:
        """See `InstanceNumbers.batches`."""
        return self.writes.batches

    @property
    def batch_seconds(self) -> float:
        """See `InstanceNumbers.batch_seconds`."""
        return self.writes.seconds

    @property
    def foreign_batches(self) -> int:
        """See `InstanceNumbers.foreign_batches`."""
        return self.history().foreign_batches

    @property
    def term(self) -> int:
        """See `Instances.term`."""
        claim = self.history().claim
        return claim.term if claim else 0

    def claimed(self, claim: Claim) -> None:
        """Note the valid claim, which may be the same as before."""
        if claim.instance != self._last:
            self.changes += bool(self._last)
            self._last, self.active_since_ms = claim.instance, self.now_ms()

    def status(self) -> bytes:
        """Return what this instance sends to the active one."""
        return msgspec.json.encode(Status(__version__, self.url, self._started_ms, self.lag))

    def heard(self, instance: str, status: bytes) -> None:
        """Note the status of a standby.

        One that cannot be read is ignored: another version may send another form.
        """
        try:
            read = decode_foreign(status, _STATUS)
        except msgspec.DecodeError:
            return
        self._forget()
        if len(self._heard) < MOST_STANDBYS or instance in self._heard:
            self._heard[instance] = (self.now_ms(), read)

    def rows(self) -> Sequence[InstanceRow]:
        """See `Instances.rows`."""
        self._forget()
        own = Status(__version__, self.url, self._started_ms, self.lag)
        standbys = [_row(each, False, status) for each, (_, status) in sorted(self._heard.items())]
        return [_row(self.instance, True, own), *standbys]

    def hand_over(self) -> None:
        """See `Instances.hand_over`."""
        asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.end_term)

    def _forget(self) -> None:
        oldest = self.now_ms() - FORGET_MS
        self._heard = {each: heard for each, heard in self._heard.items() if heard[0] >= oldest}


def _row(instance: str, active: bool, status: Status) -> InstanceRow:
    return InstanceRow(instance, active, status.version, status.url, status.started_ms, status.lag)
