"""DescribeTopicPartitions (75), version 0.

KIP: 966. Topics come in order of name, no more than a limited number of partitions at once; the cursor in the answer
is where the next request goes on. No topics mean all.
ACL: DESCRIBE on the topic; what may not be described is left out of a list of all.
Errors: by topic UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST;
by partition LEADER_NOT_AVAILABLE.
"""

from collections.abc import Awaitable, Sequence

from common.error_codes import ErrorCode
from controller.model.cluster import Partition
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.errors import ApiError
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from server.dispatch.authorizer import Operation
from server.dispatch.context import LARGE_ROWS, Context
from server.dispatch.registry import handles
from server.dispatch.topic_metadata import Described, by_name, leader_error, offline

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
    """Describe topics from the cursor on, until the limit is reached; many names are sorted off the loop."""
    names = len(request.topics) or len(context.state.topics)
    if names <= LARGE_ROWS:
        return _response(request, context)
    return context.compute(names, _response, request, context)


def _response(request: DescribeTopicPartitionsRequest, context: Context) -> DescribeTopicPartitionsResponse:
    names = _names(request, context)
    first = 0 if request.cursor is None or request.cursor.topic_name not in names[:1] else _index(request)
    left = max(1, min(request.response_partition_limit, MAX_PARTITIONS))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if left == 0:
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=Cursor(name, 0))
        described = by_name(name, context, operations=True)
        shown = described.partitions[first : first + left]
        topics.append(_topic(described, shown, context))
        if first + len(shown) < len(described.partitions):
            cursor = Cursor(name, first + len(shown))
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)
        # A topic without partitions, such as one that is not there, counts too.
        left -= max(1, len(shown))
        first = 0
    return DescribeTopicPartitionsResponse(topics=topics)


def _index(request: DescribeTopicPartitionsRequest) -> int:
    index = 0 if request.cursor is None else request.cursor.partition_index
    if index < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"The cursor is at partition {index}.")
    return index


def _names(request: DescribeTopicPartitionsRequest, context: Context) -> list[str]:
    if request.topics:
        names = {topic.name for topic in request.topics}
    else:
        names = {
            name for name in list(context.state.topics) if context.allows_topic(Operation.DESCRIBE, name)
        }
    begin = "" if request.cursor is None else request.cursor.topic_name
    return sorted(name for name in names if name >= begin)


def _topic(
    described: Described, shown: Sequence[Partition], context: Context
) -> DescribeTopicPartitionsResponseTopic:
    live = context.state.live
    rows = [
        DescribeTopicPartitionsResponsePartition(
            leader_error(each),
            each.partition,
            each.leader,
            each.leader_epoch,
            each.replicas,
            each.isr,
            (),
            (),
            offline(each.replicas, live),
        )
        for each in shown
    ]
    return DescribeTopicPartitionsResponseTopic(
        described.error, described.name, described.id, False, rows, described.operations
    )
