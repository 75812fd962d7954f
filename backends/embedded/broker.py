"""An embedded broker: it carries out the controller's requests and answers requests about its replicas.

Fencing and errors are those of Kafka's ReplicaManager. KIP-455: LeaderAndIsr v3 contains adding and removing
replicas.

After a broker has started, the controller sends LeaderAndIsr requests for all its replicas, and then an
UpdateMetadata request without partitions (`backends.broker_commands.batch.ClusterSnapshot`). Replicas that
were not in these requests are strays, and are deleted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from backends.embedded import log_dirs
from backends.embedded.controller_requests import IsrReporter
from backends.embedded.log_dirs import LogDirs
from backends.embedded.replication import Fetch, Log, Replica, Replication, Volume
from common.address import Address
from common.error_codes import ErrorCode
from controller.messages.effects import TOPIC_DELETED
from controller.model.cluster import NO_LEADER, TopicPartition
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.leader_and_isr_request import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrPartitionError, LeaderAndIsrResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import ListOffsetsResponse
from protocol.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataPartitionState, UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse

UNFENCED = {TOPIC_DELETED, -1}
"""Leader epochs in StopReplica that mean "topic deleted" and "no epoch"; they are not fenced."""


class _Row(Protocol):
    @property
    def partition_index(self) -> int: ...


R = TypeVar("R", bound=_Row)
R_co = TypeVar("R_co", bound=_Row, covariant=True)


class _Topic(Protocol[R_co]):
    @property
    def topic_name(self) -> str: ...

    @property
    def partition_states(self) -> Sequence[R_co]: ...


class EmbeddedBroker:
    """A broker whose replicas are fetched by `replication`.

    `volume` returns a topic's data, `now` the time.
    """

    def __init__(
        self,
        broker: int,
        log_dirs: LogDirs,
        replication: Replication,
        volume: Callable[[str], Volume],
        now: Callable[[], float],
    ) -> None:
        self.id = broker
        self.epoch = -1
        self.log_dirs, self.replication, self.volume, self.now = log_dirs, replication, volume, now
        self.replicas: dict[TopicPartition, Replica] = {}
        self.reporter: IsrReporter | None = None
        """None while the broker is stopped."""
        self.behind_since: float | None = None
        """When a stopped or stuck broker stopped to follow its leaders. Its replicas have no newer data."""
        self._controller_epoch = -1
        self._controller: Address | None = None
        self._in_snapshot = False
        """Whether LeaderAndIsr requests have arrived since the start, and the end of the snapshot has not."""

    @property
    def controller(self) -> Address:
        """See `Leader.controller`."""
        if self._controller is None:
            raise ConnectionError("the controller is not known yet")
        return self._controller

    def start(self, reporter: IsrReporter) -> None:
        """Start a session. Of the last session, only the logs on the disks remain."""
        self.reporter = reporter
        self._in_snapshot = False

    def stop(self) -> None:
        """End the session."""
        self.reporter = None
        # The next session's epoch is not known yet, but it is newer. So requests of the last session are
        # fenced from now on.
        self.epoch += 1
        self._controller = None
        self.replicas.clear()
        self.replication.stop_all(self.id)
        if self.behind_since is None:
            self.behind_since = self.now()

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Become leader or follower.

        A row with a leader epoch that is not newer than the known one has error 11.
        """
        error = self._fence(request.controller_epoch, request.broker_epoch)
        if error:
            return LeaderAndIsrResponse(error_code=error)
        self._in_snapshot = True
        rows = [
            LeaderAndIsrPartitionError(*key, self._become(key, row))
            for key, row in _rows(request.topic_states)
        ]
        return LeaderAndIsrResponse(partition_errors=rows)

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Store the controller's address, and the ISRs of partitions that this broker leads."""
        error = self._fence(request.controller_epoch, request.broker_epoch)
        if error:
            return UpdateMetadataResponse(error_code=error)
        for broker in request.live_brokers:
            if broker.id == request.controller_id and broker.endpoints:
                self._controller = Address(broker.endpoints[0].host, broker.endpoints[0].port)
        for key, row in _rows(request.topic_states):
            if row.leader == self.id:
                self._refresh(key, row)
        if self._in_snapshot and not request.topic_states:
            self._drop_strays()
        return UpdateMetadataResponse()

    def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Delete replicas. A row with an older leader epoch than the known one has error 74."""
        error = self._fence(request.controller_epoch, request.broker_epoch)
        if error:
            return StopReplicaResponse(error_code=error)
        rows = [
            StopReplicaPartitionError(*key, self._stop(key, row)) for key, row in _rows(request.topic_states)
        ]
        return StopReplicaResponse(partition_errors=rows)

    def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Return the sizes of replicas by log directory. Future logs are separate rows."""
        return log_dirs.describe_log_dirs(self, request)

    def alter_replica_log_dirs(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """Start to move replicas between log directories.

        A replica that does not exist is created there later (error 9).
        """
        return log_dirs.alter_replica_log_dirs(self, request)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Return offsets of partitions that this broker leads, for records of 1,024 bytes."""
        return log_dirs.list_offsets(self, request)

    def follower_caught_up(self, key: TopicPartition, follower: int) -> bool:
        """Add the follower to the ISR.

        Return False if this broker does not know the partition's current state yet.
        """
        replica = self.replicas.get(key)
        if self.reporter is None or replica is None or replica.leader != self.id:
            return False
        if follower not in replica.replicas:
            return False
        if follower not in replica.isr:
            self.reporter.change(key, follower, joins=True)
        return True

    def follower_fell_behind(self, follower: int) -> None:
        """Remove the follower from the ISRs of all partitions that this broker leads."""
        if self.reporter is None:
            return
        for key, replica in self.replicas.items():
            if replica.leader == self.id and follower in replica.isr:
                self.reporter.change(key, follower, joins=False)

    def catch_up(self, key: TopicPartition) -> None:
        """Fetch this replica again, even if it was in the ISR in the last LeaderAndIsr request."""
        replica = self.replicas.get(key)
        if replica is not None and replica.leader not in {self.id, NO_LEADER}:
            self._fetch(key, replica)

    def fail_log_dir(self, path: str) -> list[TopicPartition]:
        """Let the disk fail; return the replicas that are offline now."""
        lost = self.log_dirs.fail(path)
        for key in lost:
            self.replication.stop(self.id, key)
            self.replicas.pop(key, None)
        return lost

    def size(self, key: TopicPartition, log: Log) -> float:
        """Return the bytes in the log."""
        return log.bytes(self.volume(key.topic), self.now())

    def _fence(self, controller_epoch: int, broker_epoch: int) -> int:
        if self.reporter is None:
            return ErrorCode.BROKER_NOT_AVAILABLE
        if controller_epoch < self._controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        # After a start, the controller's requests may arrive before the reply that contains the new broker
        # epoch.
        if broker_epoch != -1 and broker_epoch < self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        self._controller_epoch = controller_epoch
        return ErrorCode.NONE

    def _become(self, key: TopicPartition, row: LeaderAndIsrPartitionState) -> int:
        known = self.replicas.get(key)
        if known is not None and row.leader_epoch <= known.leader_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if self.id not in row.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        log = self._log(key, row) if known is None else known.log
        if log is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        replica = self.replicas[key] = Replica(
            log,
            row.leader,
            row.leader_epoch,
            row.partition_epoch,
            row.isr,
            row.replicas,
            row.adding_replicas or (),
        )
        if self.id in row.isr:
            self.replication.stop(self.id, key)
            log.position = None
        elif row.leader in {self.id, NO_LEADER}:
            self.replication.stop(self.id, key)
        else:
            self._fetch(key, replica)
        return ErrorCode.NONE

    def _log(self, key: TopicPartition, row: LeaderAndIsrPartitionState) -> Log | None:
        """Return the replica's log on disk, or a new one.

        After a restart of the process no logs exist. Then a member of the ISR has all data, and other
        replicas have none.
        """
        path = self.log_dirs.find(key)
        if path is not None:
            return None if path in self.log_dirs.failed else self.log_dirs.placed[path][key]
        log = self.log_dirs.create(key, new=row.is_new)
        if log is not None:
            log.position = None if self.id in row.isr else 0.0
        return log

    def _fetch(self, key: TopicPartition, replica: Replica) -> None:
        if replica.log.position is None and self.behind_since is not None:
            replica.log.position = self.volume(key.topic).end(self.behind_since)
        adding = self.id in replica.adding
        self.replication.start(Fetch(key, self.id, replica.leader, replica.log, adding))

    def _refresh(self, key: TopicPartition, row: UpdateMetadataPartitionState) -> None:
        """Store changes without a new leader epoch, such as a reorder.

        Brokers get them only in UpdateMetadata.
        """
        replica = self.replicas.get(key)
        if replica is not None and row.leader_epoch == replica.leader_epoch:
            self.accept(key, row.leader_epoch, row.zk_version, row.isr)
            replica.replicas = row.replicas

    def accept(
        self, key: TopicPartition, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]
    ) -> None:
        """See `Leader.accept`."""
        replica = self.replicas.get(key)
        if replica is None or leader_epoch != replica.leader_epoch:
            return
        if partition_epoch > replica.partition_epoch:
            replica.isr, replica.partition_epoch = isr, partition_epoch

    def _stop(self, key: TopicPartition, row: StopReplicaPartitionState) -> int:
        replica = self.replicas.get(key)
        if (
            replica is not None
            and row.leader_epoch not in UNFENCED
            and row.leader_epoch < replica.leader_epoch
        ):
            return ErrorCode.FENCED_LEADER_EPOCH
        if self.log_dirs.find(key) in self.log_dirs.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._delete(key)
        return ErrorCode.NONE

    def _delete(self, key: TopicPartition) -> None:
        self.replication.stop(self.id, key)
        self.replicas.pop(key, None)
        self.log_dirs.delete(key)

    def _drop_strays(self) -> None:
        self._in_snapshot = False
        self.behind_since = None
        for path, logs in self.log_dirs.placed.items():
            if path not in self.log_dirs.failed:
                for key in [key for key in logs if key not in self.replicas]:
                    self._delete(key)


def _rows(topics: Sequence[_Topic[R]]) -> Iterator[tuple[TopicPartition, R]]:
    """Yield the rows of a controller request, each with its partition."""
    for topic in topics:
        for row in topic.partition_states:
            yield TopicPartition(topic.topic_name, row.partition_index), row
