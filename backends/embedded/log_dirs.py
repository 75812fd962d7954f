"""The log directories of an embedded broker.

The replicas in them, failed disks, and moves between directories (KIP-113).

A replica has a log in one directory. While it moves it has a second log in another one, the future log, which
replaces the first when it has caught up. DescribeLogDirs (35; with the total and free bytes of volumes,
KIP-827), AlterReplicaLogDirs (34) and ListOffsets (2) are answered here.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from backends.embedded.replication import Log, Replica
from common.error_codes import ErrorCode
from common.tasks import ROWS_PER_SLICE, Steps, result_of
from controller.execution.cordons import are_cordoned
from controller.model.cluster import TopicPartition
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

SERVED = 64
"""Future logs that are copied to in one tick."""


class FutureLog(NamedTuple):
    """The log of a replica that moves to another directory."""

    path: str
    log: Log


class LogDirs:
    """Log directories, in the configured order. `placed` has the logs by directory.

    `cordons` returns the value of `cordoned.log.dirs`: the directories that get no new replicas (KIP-1066).
    """

    def __init__(self, paths: Iterable[str], cordons: Callable[[], str | None] = lambda: None) -> None:
        self._cordons = cordons
        self.placed: dict[str, dict[TopicPartition, Log]] = {path: {} for path in paths}
        self.failed: set[str] = set()
        self._wanted: dict[TopicPartition, str] = {}
        """Directories for replicas that do not exist yet."""
        self._futures: OrderedDict[TopicPartition, FutureLog] = OrderedDict()

    def find(self, key: TopicPartition) -> str | None:
        """Return the directory of the replica, even if its disk has failed; None if there is no replica."""
        for path, logs in self.placed.items():
            if key in logs:
                return path
        return None

    def log(self, key: TopicPartition) -> Log | None:
        """Return the replica's log; None if there is none, or its disk has failed."""
        path = self.find(key)
        return None if path is None or path in self.failed else self.placed[path][key]

    def create(self, key: TopicPartition, *, new: bool) -> Log | None:
        """Create a log in the wanted directory, or in the one with the fewest logs.

        A cordoned one is taken only if all are cordoned. Return None when no disk works. Return None also
        when a disk has failed that may contain the replica; a `new` replica is on no disk.
        """
        working = [path for path in self.placed if path not in self.failed]
        if not working or (self.failed and not new):
            return None
        wanted = self._wanted.pop(key, "")
        open_ = [path for path in working if not self.is_cordoned(path)] or working
        path = wanted if wanted in working else min(open_, key=lambda path: len(self.placed[path]))
        return self.placed[path].setdefault(key, Log())

    def is_cordoned(self, path: str) -> bool:
        """Return whether the directory is cordoned."""
        return are_cordoned(self._cordons(), (path,))

    def delete(self, key: TopicPartition) -> None:
        """Delete the replica and its future log."""
        self._futures.pop(key, None)
        for logs in self.placed.values():
            logs.pop(key, None)

    def fail(self, path: str) -> list[TopicPartition]:
        """Mark the disk as failed; return its replicas."""
        self.failed.add(path)
        for key in [key for key, future in self._futures.items() if future.path == path]:
            del self._futures[key]
        return list(self.placed[path])

    def replace_failed(self) -> None:
        """Replace failed disks by empty ones."""
        for path in self.failed:
            self.placed[path].clear()
        self.failed.clear()

    def want(self, key: TopicPartition, path: str) -> bool:
        """Start to move the replica to this directory, or create it there later; return whether it exists.

        A move to this directory continues, one to another ends.
        """
        current, future = self.find(key), self._futures.get(key)
        if future is not None and future.path != path:
            del self._futures[key]
        if current is None:
            self._wanted[key] = path
        elif current != path and key not in self._futures:
            self._futures[key] = FutureLog(path, Log(0.0))
        return current is not None

    def futures(self) -> Iterator[tuple[TopicPartition, FutureLog]]:
        """Yield the future logs."""
        yield from self._futures.items()

    def tick(self, budget: float, size: Callable[[TopicPartition, Log], float]) -> None:
        """Copy up to `budget` bytes to future logs; `size` returns the bytes in a log."""
        served = list(islice(self._futures.items(), SERVED))
        for index, (key, future) in enumerate(served):
            self._futures.move_to_end(key)
            current = self.log(key)
            if current is None:
                continue
            behind = size(key, current) - (future.log.position or 0.0)
            moved = min(max(behind, 0.0), budget / (len(served) - index))
            future.log.position = (future.log.position or 0.0) + moved
            budget -= moved
            if moved >= behind - 1e-6:
                self._replace_log(key, future.path, current)

    def _replace_log(self, key: TopicPartition, path: str, log: Log) -> None:
        self.delete(key)
        self.placed[path][key] = log


RECORD_BYTES = 1_024
VOLUME_BYTES = 1 << 40
"""Capacity of each disk."""

LATEST, EARLIEST, EARLIEST_LOCAL = -1, -2, -4
"""Timestamps that stand for the ends of a log."""


class Host(Protocol):
    """A broker, as these requests need it."""

    id: int
    log_dirs: LogDirs
    replicas: dict[TopicPartition, Replica]

    def size(self, key: TopicPartition, log: Log) -> float:
        """Return the bytes in the log."""
        ...


def describe_log_dirs(host: Host, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Return a row for each log directory, with the requested replicas; null topics stand for all."""
    return result_of(describing_log_dirs(host, request))


def describing_log_dirs(host: Host, request: DescribeLogDirsRequest) -> Steps[DescribeLogDirsResponse]:
    """As `describe_log_dirs`: a broker with all of a large cluster has many replicas to add up."""
    wanted = (
        None
        if request.topics is None
        else {TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions}
    )
    rows = []
    for path in list(host.log_dirs.placed):
        row = yield from _describe(host, path, wanted)
        rows.append(row)
    return DescribeLogDirsResponse(results=rows)


def _describe(host: Host, path: str, wanted: set[TopicPartition] | None) -> Steps[DescribeLogDirsResult]:
    if path in host.log_dirs.failed:
        return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    used = 0
    placed = host.log_dirs.placed[path]
    for number, key in enumerate(list(placed), 1):
        if number % ROWS_PER_SLICE == 0:
            yield
        if (log := placed.get(key)) is None:
            continue
        size = int(host.size(key, log))
        used += size
        if wanted is None or key in wanted:
            lag = _offset(host.size(key, Log()) - size)
            row = DescribeLogDirsPartition(key.partition, size, lag, is_future_key=False)
            topics.setdefault(key.topic, []).append(row)
    for key, future in host.log_dirs.futures():
        if future.path == path and (wanted is None or key in wanted):
            size = int(host.size(key, future.log))
            lag = _offset(host.size(key, host.log_dirs.log(key) or Log()) - size)
            row = DescribeLogDirsPartition(key.partition, size, lag, is_future_key=True)
            topics.setdefault(key.topic, []).append(row)
    rows = [DescribeLogDirsTopic(name, partitions) for name, partitions in topics.items()]
    free, cordoned = max(0, VOLUME_BYTES - used), host.log_dirs.is_cordoned(path)
    return DescribeLogDirsResult(ErrorCode.NONE, path, rows, VOLUME_BYTES, free, is_cordoned=cordoned)


def alter_replica_log_dirs(host: Host, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Start moves; errors by partition.

    57 unknown directory, 56 failed disk, 9 the broker has no such replica (yet).
    """
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                error = _alter(host, TopicPartition(topic.name, index), directory.path)
                topics.setdefault(topic.name, []).append(AlterReplicaLogDirPartitionResult(index, error))
    results = [AlterReplicaLogDirTopicResult(name, rows) for name, rows in topics.items()]
    return AlterReplicaLogDirsResponse(results=results)


def _alter(host: Host, key: TopicPartition, path: str) -> int:
    if path not in host.log_dirs.placed:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if path in host.log_dirs.failed or host.log_dirs.find(key) in host.log_dirs.failed:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE if host.log_dirs.want(key, path) else ErrorCode.REPLICA_NOT_AVAILABLE


def list_offsets(host: Host, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return the ends of logs. Records have no timestamps, so other timestamps have offset -1."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_list(host, topic.name, row) for row in topic.partitions])
            for topic in request.topics
        ]
    )


def _list(host: Host, topic: str, row: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    key = TopicPartition(topic, row.partition_index)
    replica = host.replicas.get(key)
    if replica is None:
        return ListOffsetsPartitionResponse(row.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if replica.leader != host.id:
        return ListOffsetsPartitionResponse(row.partition_index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    offset = -1
    if row.timestamp == LATEST:
        offset = _offset(host.size(key, replica.log))
    elif row.timestamp in {EARLIEST, EARLIEST_LOCAL}:
        offset = 0
    return ListOffsetsPartitionResponse(row.partition_index, ErrorCode.NONE, -1, offset, replica.leader_epoch)


def _offset(size: float) -> int:
    return int(size) // RECORD_BYTES
