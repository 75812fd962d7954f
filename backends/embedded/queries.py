"""Requests about a broker's replicas: DescribeLogDirs (35), AlterReplicaLogDirs (34), ListOffsets (2).

KIP-113: replicas that move to another log directory. KIP-827: total and free bytes of volumes.
"""

from typing import Protocol

from backends.embedded.log_dirs import LogDirs
from backends.embedded.replica import Replica
from backends.embedded.replication import Log
from common.error_codes import ErrorCode
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

RECORD_BYTES = 1_024
VOLUME_BYTES = 1 << 40
"""Capacity of each disk."""

LATEST, EARLIEST = -1, -2
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
    wanted = (
        None
        if request.topics is None
        else {TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions}
    )
    return DescribeLogDirsResponse(results=[_describe(host, path, wanted) for path in host.log_dirs.placed])


def _describe(host: Host, path: str, wanted: set[TopicPartition] | None) -> DescribeLogDirsResult:
    if path in host.log_dirs.failed:
        return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    used = 0
    for key, log in host.log_dirs.placed[path].items():
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
    return DescribeLogDirsResult(ErrorCode.NONE, path, rows, VOLUME_BYTES, max(0, VOLUME_BYTES - used))


def alter_replica_log_dirs(host: Host, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Start moves; errors by partition: 57 unknown directory, 56 failed disk, 9 the broker has no such replica (yet)."""
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
    elif row.timestamp == EARLIEST:
        offset = 0
    return ListOffsetsPartitionResponse(row.partition_index, ErrorCode.NONE, -1, offset, replica.leader_epoch)


def _offset(size: float) -> int:
    return int(size) // RECORD_BYTES
