"""What the server needs of others, as ports: the brokers it speaks for, what data they have, and someone who counts."""

from collections.abc import Collection, Mapping
from typing import Protocol

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
    """One broker, as the handlers on its listener see it. Every call answers at once."""

    @property
    def id(self) -> int: ...

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse: ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse: ...

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse: ...

    def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse: ...

    def alter_replica_log_dirs(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse: ...

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse: ...


class Sizes(Protocol):
    """What data there is, as far as that is known without asking anyone.

    Called very often: it must cost little.
    """

    def size(self, key: TopicPartition) -> int | None:
        """Bytes of a whole replica of the partition; None when not known."""
        ...

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Bytes that the broker has of a replica that is on its way to it; None when not known."""
        ...

    def received(self, key: TopicPartition) -> tuple[float, float] | None:
        """Bytes that all replicas on their way have together, and when, in seconds, that was so; None when not known."""
        ...


class Stats(Protocol):
    """Told of everything worth counting.

    Called on the hot path: an implementation must cost next to nothing.
    """

    def request(self, api_key: int, error_code: int) -> None:
        """A request was answered; `error_code` is the response's own, 0 when it has none."""
        ...

    def decision(self, event: str, seconds: float) -> None:
        """The controller took an event of this type, for that long."""
        ...

    def commit(self, changes: int, seconds: float) -> None:
        """That many changes became durable, that long after they were handed to the store."""
        ...

    def queue(self, length: int) -> None:
        """So many events wait for the driver."""
        ...

    def loop_lag(self, seconds: float) -> None:
        """A timer of the event loop was that late."""
        ...

    def connection(self, change: int) -> None:
        """A connection was opened (+1) or closed (-1)."""
        ...


class OwnedBrokers(Protocol):
    """Brokers of this process, to stop, slow and break.

    Errors: ValueError where a broker runs that must not, or does not run.
    """

    @property
    def brokers(self) -> Collection[int]:
        """Their ids, whether they run or not."""
        ...

    def log_dirs(self, number: int) -> Mapping[str, bool]:
        """The broker's log directories, and whether they work."""
        ...

    async def start_broker(self, number: int) -> None:
        """Bring a stopped broker back."""
        ...

    async def stop_broker(self, number: int, *, controlled: bool = True) -> None:
        """Stop it: in order, or at once as if it had crashed."""
        ...

    def slow_broker(self, number: int, factor: float) -> None:
        """Scale its network; 0 makes it stuck, 1 makes it whole again."""
        ...

    async def fail_log_dir(self, number: int, path: str) -> None:
        """Break one of its disks."""
        ...
