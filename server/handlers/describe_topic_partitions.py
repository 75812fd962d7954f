"""DescribeTopicPartitions (75), version 0.

KIP: 966. Topics are sorted by name. A response has a limited number of partitions; its cursor is the start of
the next request. An empty list of topics means all.
ACL: DESCRIBE on the topic. If all topics are requested, topics without DESCRIBE are omitted.
Errors by topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED,
INVALID_REQUEST; by partition LEADER_NOT_AVAILABLE.
"""

from collections.abc import Awaitable, Sequence

from common.error_codes import ErrorCode
from controller.model.access import Operation
from controller.model.cluster import Partition
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.counter import Bounds
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from server.dispatch.context import (
    LARGE_ROWS,
    Context,
)
from server.dispatch.registry import handles
from server.handlers.metadata import TopicDescription, describe_by_name, leader_error, offline_replicas

MAX_PARTITIONS = 2000
"""Kafka: max.request.partition.size.limit."""


def refuse(
    request: DescribeTopicPartitionsRequest, code: int, _message: str | None
) -> DescribeTopicPartitionsResponse:
    """Repeat the error for every topic."""
    topics = [DescribeTopicPartitionsResponseTopic(code, topic.name) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


@handles(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    DescribeTopicPartitionsRequest,
    versions=(0, 0),
    refuse=refuse,
    bounds=Bounds(rows=100_000, numbers=100_000),
)
def handle(
    request: DescribeTopicPartitionsRequest, context: Context
) -> DescribeTopicPartitionsResponse | Awaitable[DescribeTopicPartitionsResponse]:
    """Describe topics from the cursor on, up to the limit. Many names are sorted in the worker thread."""
    names = len(request.topics) or len(context.state.cluster.topics)
    if names <= LARGE_ROWS:
        return _response(request, context)
    return context.off_loop(_response, request, context)


def _response(request: DescribeTopicPartitionsRequest, context: Context) -> DescribeTopicPartitionsResponse:
    names = _names(request, context)
    first = 0 if request.cursor is None or request.cursor.topic_name not in names[:1] else _index(request)
    remaining = max(1, min(request.response_partition_limit, MAX_PARTITIONS))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if remaining == 0:
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=Cursor(name, 0))
        described = describe_by_name(name, context, operations=True)
        partitions = described.partitions[first : first + remaining]
        topics.append(_topic(described, partitions, context))
        if first + len(partitions) < len(described.partitions):
            cursor = Cursor(name, first + len(partitions))
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)
        # A topic without partitions, such as an unknown one, counts as one.
        remaining -= max(1, len(partitions))
        first = 0
    return DescribeTopicPartitionsResponse(topics=topics)


def _index(request: DescribeTopicPartitionsRequest) -> int:
    index = 0 if request.cursor is None else request.cursor.partition_index
    if index < 0:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"The cursor's partition index is {index}; it must not be negative."
        )
    return index


def _names(request: DescribeTopicPartitionsRequest, context: Context) -> list[str]:
    if request.topics:
        names = {topic.name for topic in request.topics}
    else:
        names = {
            name
            for name in list(context.state.cluster.topics)
            if context.allows_topic(Operation.DESCRIBE, name)
        }
    first_name = "" if request.cursor is None else request.cursor.topic_name
    return sorted(name for name in names if name >= first_name)


def _topic(
    described: TopicDescription, partitions: Sequence[Partition], context: Context
) -> DescribeTopicPartitionsResponseTopic:
    live = context.state.cluster.live
    rows = [
        DescribeTopicPartitionsResponsePartition(
            leader_error(partition),
            partition.partition,
            partition.leader,
            partition.leader_epoch,
            partition.replicas,
            partition.isr,
            (),
            (),
            offline_replicas(partition.replicas, live),
        )
        for partition in partitions
    ]
    return DescribeTopicPartitionsResponseTopic(
        described.error, described.name, described.id, False, rows, described.operations
    )
