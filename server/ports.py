"""Ports of the server: its brokers, the sizes of partitions, the counters, and the control of brokers."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from controller.model.audit import AuditEntry, AuditFilter
from controller.model.cluster import TopicPartition
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import ListOffsetsResponse
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse


class BrokerPort(Protocol):
    """The broker of a listener, as its handlers use it. No call blocks."""

    @property
    def id(self) -> int: ...

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse: ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse: ...

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse: ...

    def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse: ...

    def alter_replica_log_dirs(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse: ...

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse: ...


class Sizes(Protocol):
    """Known sizes of replicas. Called very often: all but `describe` must be fast and must not send requests."""

    def size(self, key: TopicPartition) -> int | None:
        """Return the bytes of a complete replica of the partition; None if unknown."""
        ...

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Return the bytes that the broker has of an adding replica; None if unknown."""
        ...

    def received(self, key: TopicPartition) -> tuple[float, float] | None:
        """Return the bytes of all adding replicas together and the time of this size in seconds; None if unknown."""
        ...

    def measured(self) -> float | None:
        """Return the time of the last complete measurement in seconds of the clock; None before the first one."""
        ...

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
        """Ask the broker for its directories now; None if it does not answer."""
        ...


class Stats(Protocol):
    """Counts events for the metrics. Called on the hot path: it must be very fast."""

    def request(self, api_key: int, error_code: int, seconds: float | None = None) -> None:
        """Count a response. `error_code` is its top-level error code, 0 if it has none.

        `seconds` is the time from the complete request to the encoded response; None if it was not measured.
        """
        ...

    def loop_lag(self, seconds: float) -> None:
        """Record the delay of a timer of the event loop."""
        ...

    def connection(self, change: int) -> None:
        """Count an opened (+1) or closed (-1) connection."""
        ...


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
