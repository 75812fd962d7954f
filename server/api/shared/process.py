"""What the API asks of the process that it runs in: its audit log, its instances, and its own brokers."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from controller.model.audit import AuditEntry, AuditFilter


class AuditLog(Protocol):
    """The stored audit log. Each method takes milliseconds, and runs on any thread, one call at a time."""

    def newest(self, chosen: AuditFilter, limit: int, before: int | None = None) -> list[AuditEntry]:
        """Return up to `limit` entries, the newest first; those with ids below `before` if it is given.

        Raises AuditLogError.
        """
        ...

    def oldest(self, chosen: AuditFilter, limit: int, after: int = 0) -> list[AuditEntry]:
        """Return up to `limit` entries with ids above `after`, the oldest first."""
        ...


class InstanceRow(NamedTuple):
    """An instance before the cluster. Times are milliseconds since 1970."""

    id: str
    active: bool
    version: str
    url: str
    started_ms: int
    lag: int
    """Records of the state topic that it has not read yet."""


class Instances(Protocol):
    """The instances before one cluster, as the active one knows them."""

    @property
    def term(self) -> int:
        """Increases with each change of the active instance."""
        ...

    @property
    def active_since_ms(self) -> int:
        """Start of the term."""
        ...

    def rows(self) -> Sequence[InstanceRow]:
        """Return this instance, then the standbys that were heard lately."""
        ...

    def hand_over(self) -> None:
        """End the term of this instance soon, so that answers in progress leave before."""
        ...


class OwnedBrokers(Protocol):
    """The brokers of this process, which can be stopped, slowed and broken.

    Raises ValueError if the broker is not in the state that the call needs.
    """

    @property
    def brokers(self) -> Collection[int]:
        """The brokers' ids, running or stopped."""
        ...

    def log_dirs(self, number: int) -> Mapping[str, bool]:
        """Return the broker's log directories and whether each one works."""
        ...

    async def start_broker(self, number: int) -> None:
        """Start a stopped broker."""
        ...

    async def stop_broker(self, number: int, *, controlled: bool = True) -> None:
        """Stop the broker: with a controlled shutdown, or at once like a crash."""
        ...

    def slow_broker(self, number: int, factor: float) -> None:
        """Multiply the broker's network rate by `factor`: 0 stops the transfer, 1 restores the rate."""
        ...

    async def fail_log_dir(self, number: int, path: str) -> None:
        """Make a log directory of the broker fail."""
        ...
