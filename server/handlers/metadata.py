"""Metadata (3), versions 0-13.

KIP: 4 (v1), 112 (v5, offline replicas), 430 (v8, authorized operations), 516 (v10, topic ids), 1102 (v13).
Null topics mean all of them; before version 1 an empty list does. Topics are not created on demand.
ACL: DESCRIBE on the topic; what may not be described is left out of a list of all.
Errors by topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED;
by partition LEADER_NOT_AVAILABLE.
"""

from collections.abc import Awaitable, Set

from common.error_codes import ErrorCode
from controller.model.cluster import Partition
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.errors import ApiError
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.schema import ZERO_UUID
from server.dispatch.authorizer import CLUSTER
from server.dispatch.context import LARGE_ROWS, Context
from server.dispatch.registry import handles
from server.dispatch.topic_metadata import Described, by_id, by_name, every, leader_error, offline

BY_ID = 12
"""The first version that finds topics by id; in 10 and 11 the field is there, and is not used."""


def refuse(request: MetadataRequest, code: int, _message: str | None) -> MetadataResponse:
    """Repeat the error for every named topic; top level exists from version 13."""
    # A request may name nothing where the response must have a name (versions 10 and 11).
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
    """Describe live brokers and topics; a long answer is made off the loop."""
    partitions = context.state.partitions
    if _wants_all(request, context):
        rows = sum(map(len, partitions.values()))
    else:
        rows = sum(len(partitions.get(topic.name or "", "?")) for topic in request.topics or ())
    if rows <= LARGE_ROWS:
        return _response(request, context)
    return context.compute(rows, _response, request, context)


def _wants_all(request: MetadataRequest, context: Context) -> bool:
    return request.topics is None or (context.api_version == 0 and not request.topics)


def _response(request: MetadataRequest, context: Context) -> MetadataResponse:
    live = frozenset(context.state.live)
    if _wants_all(request, context):
        described = every(context, request.include_topic_authorized_operations)
    else:
        described = [_find(topic, request, context) for topic in dict.fromkeys(request.topics or ())]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(each.id, each.host, each.port, each.rack)
            for each in context.brokers()
            if each.id in live
        ],
        cluster_id=context.services.cluster_id,
        controller_id=context.controller_id,
        topics=[_topic(each, live) for each in described],
        cluster_authorized_operations=context.operations_on(
            CLUSTER, request.include_cluster_authorized_operations
        ),
    )


def _find(topic: MetadataRequestTopic, request: MetadataRequest, context: Context) -> Described:
    operations = request.include_topic_authorized_operations
    if topic.name is not None:
        return by_name(topic.name, context, operations)
    if topic.topic_id == ZERO_UUID or context.api_version < BY_ID:
        raise ApiError(ErrorCode.INVALID_REQUEST, "A topic needs a name or an id.")
    return by_id(topic.topic_id, context, operations)


def _topic(described: Described, live: Set[int]) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        described.error,
        described.name,
        described.id,
        False,
        [_partition(each, live) for each in described.partitions],
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
        offline(partition.replicas, live),
    )
