"""Topics as Metadata (3) and DescribeTopicPartitions (75) show them."""

from collections.abc import Sequence, Set
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.cluster.topics import is_legal
from controller.model.cluster import NO_LEADER, Partition, Replicas, Topic
from protocol.schema import ZERO_UUID
from server.dispatch.authorizer import Operation, topic
from server.dispatch.context import NOT_ASKED, Context


class Described(NamedTuple):
    """A topic that was found and may be shown, or why not. `name` is None when only an id was given and is unknown."""

    error: int
    name: str | None
    id: bytes = ZERO_UUID
    partitions: Sequence[Partition] = ()
    operations: int = NOT_ASKED


def by_name(name: str, context: Context, operations: bool) -> Described:
    """Look a topic up by name; `operations` asks for the authorized operations on it."""
    if not context.allows_topic(Operation.DESCRIBE, name):
        return Described(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    found = context.state.topics.get(name)
    if found is None:
        legal = is_legal(name)
        return Described(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION, name
        )
    return _shown(found, context, operations)


def by_id(topic_id: bytes, context: Context, operations: bool) -> Described:
    """Look a topic up by id; whoever may not describe it does not learn its name."""
    name = context.state.topic_names.get(topic_id)
    found = None if name is None else context.state.topics.get(name)
    if found is None:
        return Described(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not context.allows_topic(Operation.DESCRIBE, found.name):
        return Described(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    return _shown(found, context, operations)


def every(context: Context, operations: bool) -> list[Described]:
    """All topics that may be described."""
    return [
        _shown(found, context, operations)
        for found in list(context.state.topics.values())
        if context.allows_topic(Operation.DESCRIBE, found.name)
    ]


def leader_error(partition: Partition) -> int:
    """The error code of a partition's row."""
    return ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE


def offline(replicas: Replicas, live: Set[int]) -> Replicas:
    """Those whose broker is not alive."""
    return tuple(r for r in replicas if r not in live)


def _shown(found: Topic, context: Context, operations: bool) -> Described:
    partitions = tuple(context.state.partitions.get(found.name, ()))
    allowed = context.operations_on(topic(found.name), operations)
    return Described(ErrorCode.NONE, found.name, found.id, partitions, allowed)
