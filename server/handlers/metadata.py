"""Metadata (3), versions 0-13.

KIP: 4 (v1), 112 (v5, offline replicas), 430 (v8, authorized operations), 516 (v10, topic ids), 1102 (v13).
Null topics mean all topics; in version 0 an empty list does. Metadata does not create topics.
ACL: DESCRIBE on the topic. If all topics are requested, topics without DESCRIBE are omitted.
Errors by topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION,
TOPIC_AUTHORIZATION_FAILED; by partition LEADER_NOT_AVAILABLE.
"""

from collections.abc import Awaitable, Sequence, Set
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.access import Operation
from controller.model.cluster import NO_LEADER, Partition, Replicas, Topic
from controller.model.replicas import is_topic_name
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.codec.schema import ZERO_UUID
from protocol.counter import Bounds
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from server.dispatch.context import (
    CLUSTER,
    LARGE_ROWS,
    NOT_ASKED,
    Context,
    topic,
)
from server.dispatch.registry import handles


class TopicDescription(NamedTuple):
    """A topic's row: its partitions, or an error.

    `name` is None if the request has an id that is unknown or not permitted.
    """

    error: int
    name: str | None
    id: bytes = ZERO_UUID
    partitions: Sequence[Partition] = ()
    operations: int = NOT_ASKED


WITH_TOPIC_IDS = 12
"""The first version with lookups by topic id. Versions 10 and 11 have the field but do not use it."""


def refuse(request: MetadataRequest, code: int, _message: str | None) -> MetadataResponse:
    """Repeat the error for every requested topic. The top-level error exists from version 13 on."""
    # In versions 10 and 11 a request may have a null name, but the response must not.
    topics = [MetadataResponseTopic(code, topic.name or "", topic.topic_id) for topic in request.topics or ()]
    return MetadataResponse(topics=topics, error_code=code)


@handles(
    ApiKey.METADATA,
    MetadataRequest,
    versions=(0, 13),
    refuse=refuse,
    bounds=Bounds(rows=100_000, numbers=100_000),
)
def handle(request: MetadataRequest, context: Context) -> MetadataResponse | Awaitable[MetadataResponse]:
    """Describe live brokers and topics. A long response is made in the worker thread."""
    partitions = context.state.cluster.partitions
    if _requests_all(request, context):
        rows = sum(map(len, partitions.values()))
    else:
        rows = sum(len(partitions.get(topic.name or "", "?")) for topic in request.topics or ())
    if rows <= LARGE_ROWS:
        return _response(request, context)
    return context.off_loop(_response, request, context)


def _requests_all(request: MetadataRequest, context: Context) -> bool:
    return request.topics is None or (context.api_version == 0 and not request.topics)


def _response(request: MetadataRequest, context: Context) -> MetadataResponse:
    live = frozenset(context.state.cluster.live)
    if _requests_all(request, context):
        described = describe_all(context, request.include_topic_authorized_operations)
    else:
        # A client may repeat a name with many ids.
        topics = {
            topic.name if topic.name is not None else topic.topic_id: topic for topic in request.topics or ()
        }
        described = [_describe(topic, request, context) for topic in topics.values()]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(broker.id, broker.host, broker.port, broker.rack)
            for broker in context.brokers()
            if broker.id in live
        ],
        cluster_id=context.services.cluster_id,
        controller_id=context.controller_id,
        topics=[_topic(topic, live) for topic in described],
        cluster_authorized_operations=context.operations_on(
            CLUSTER, request.include_cluster_authorized_operations
        ),
    )


def _describe(topic: MetadataRequestTopic, request: MetadataRequest, context: Context) -> TopicDescription:
    operations = request.include_topic_authorized_operations
    if topic.name is not None:
        return describe_by_name(topic.name, context, operations)
    if topic.topic_id == ZERO_UUID or context.api_version < WITH_TOPIC_IDS:
        raise ApiError(ErrorCode.INVALID_REQUEST, "A topic needs a name or an id.")
    return describe_by_id(topic.topic_id, context, operations)


def _topic(described: TopicDescription, live: Set[int]) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        described.error,
        described.name,
        described.id,
        False,
        [_partition(partition, live) for partition in described.partitions],
        described.operations,
    )


def _partition(partition: Partition, live: Set[int]) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        leader_error(partition),
        partition.partition,
        partition.leader,
        partition.leader_epoch,
        partition.replicas,
        partition.isr,
        offline_replicas(partition.replicas, live),
    )


def describe_by_name(name: str, context: Context, operations: bool) -> TopicDescription:
    """Describe the topic with this name; `operations` includes the authorized operations on the topic."""
    if not context.allows_topic(Operation.DESCRIBE, name):
        return TopicDescription(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    known = context.state.cluster.topics.get(name)
    if known is None:
        legal = is_topic_name(name)
        return TopicDescription(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION, name
        )
    return _described(known, context, operations)


def describe_by_id(topic_id: bytes, context: Context, operations: bool) -> TopicDescription:
    """Describe the topic with this id. A principal without DESCRIBE does not learn its name."""
    name = context.state.cluster.topic_names.get(topic_id)
    known = None if name is None else context.state.cluster.topics.get(name)
    if known is None:
        return TopicDescription(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not context.allows_topic(Operation.DESCRIBE, known.name):
        return TopicDescription(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    return _described(known, context, operations)


def describe_all(context: Context, operations: bool) -> list[TopicDescription]:
    """Describe all topics for which the principal has DESCRIBE."""
    return [
        _described(known, context, operations)
        for known in list(context.state.cluster.topics.values())
        if context.allows_topic(Operation.DESCRIBE, known.name)
    ]


def leader_error(partition: Partition) -> int:
    """Return the error code of a partition's row."""
    return ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE


def offline_replicas(replicas: Replicas, live: Set[int]) -> Replicas:
    """Return the replicas on brokers that are not live."""
    return tuple(r for r in replicas if r not in live)


def _described(known: Topic, context: Context, operations: bool) -> TopicDescription:
    partitions = tuple(context.state.cluster.partitions.get(known.name, ()))
    allowed = context.operations_on(topic(known.name), operations)
    return TopicDescription(ErrorCode.NONE, known.name, known.id, partitions, allowed)
