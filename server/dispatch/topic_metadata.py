"""Descriptions of topics for Metadata (3) and DescribeTopicPartitions (75)."""

from collections.abc import Sequence, Set
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.cluster.topics import is_legal
from controller.model.cluster import NO_LEADER, Partition, Replicas, Topic
from protocol.schema import ZERO_UUID
from server.dispatch.authorizer import Operation, topic
from server.dispatch.context import NOT_ASKED, Context


class TopicDescription(NamedTuple):
    """A topic's row: its partitions, or an error.

    `name` is None if the request has an id that is unknown or not permitted.
    """

    error: int
    name: str | None
    id: bytes = ZERO_UUID
    partitions: Sequence[Partition] = ()
    operations: int = NOT_ASKED


def describe_by_name(name: str, context: Context, operations: bool) -> TopicDescription:
    """Describe the topic with this name; `operations` includes the authorized operations on the topic."""
    if not context.allows_topic(Operation.DESCRIBE, name):
        return TopicDescription(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    known = context.state.topics.get(name)
    if known is None:
        legal = is_legal(name)
        return TopicDescription(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION, name
        )
    return _describe(known, context, operations)


def describe_by_id(topic_id: bytes, context: Context, operations: bool) -> TopicDescription:
    """Describe the topic with this id. A principal without DESCRIBE does not learn its name."""
    name = context.state.topic_names.get(topic_id)
    known = None if name is None else context.state.topics.get(name)
    if known is None:
        return TopicDescription(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not context.allows_topic(Operation.DESCRIBE, known.name):
        return TopicDescription(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    return _describe(known, context, operations)


def describe_all(context: Context, operations: bool) -> list[TopicDescription]:
    """Describe all topics for which the principal has DESCRIBE."""
    return [
        _describe(known, context, operations)
        for known in list(context.state.topics.values())
        if context.allows_topic(Operation.DESCRIBE, known.name)
    ]


def leader_error(partition: Partition) -> int:
    """Return the error code of a partition's row."""
    return ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE


def offline_replicas(replicas: Replicas, live: Set[int]) -> Replicas:
    """Return the replicas on brokers that are not live."""
    return tuple(r for r in replicas if r not in live)


def _describe(known: Topic, context: Context, operations: bool) -> TopicDescription:
    partitions = tuple(context.state.partitions.get(known.name, ()))
    allowed = context.operations_on(topic(known.name), operations)
    return TopicDescription(ErrorCode.NONE, known.name, known.id, partitions, allowed)
