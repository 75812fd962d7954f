"""ListOffsets (2), versions 1-11.

KIP: 79, 320 (v4, leader epochs), 734 (v7, largest timestamp), 405 (v8, v9), 1005 (v9).
ACL: DESCRIBE on the topic.
Errors by partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
"""

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.list_offsets_request import ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles

WITH_EPOCHS = 4
"""The first version whose response has leader epochs."""
NO_EPOCH = -1


def refuse(request: ListOffsetsRequest, code: int, _message: str | None) -> ListOffsetsResponse:
    """Repeat the error for every partition."""
    return ListOffsetsResponse(topics=[_refused(topic, code) for topic in request.topics])


@handles(
    ApiKey.LIST_OFFSETS,
    ListOffsetsRequest,
    versions=(1, 11),
    refuse=refuse,
    bounds=Bounds(rows=20_000, numbers=20_000),
)
def handle(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse:
    """Return the broker's offsets of the topics for which the principal has DESCRIBE."""
    allowed: list[ListOffsetsTopic] = []
    denied: list[ListOffsetsTopic] = []
    for topic in request.topics:
        (allowed if context.allows_topic(Operation.DESCRIBE, topic.name) else denied).append(topic)
    response = context.broker.list_offsets(request._replace(topics=allowed))
    if context.api_version < WITH_EPOCHS:
        response = response._replace(topics=[_without_epochs(topic) for topic in response.topics])
    refused = [_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in denied]
    return response._replace(topics=[*response.topics, *refused])


def _without_epochs(topic: ListOffsetsTopicResponse) -> ListOffsetsTopicResponse:
    rows = [row._replace(leader_epoch=NO_EPOCH) for row in topic.partitions]
    return topic._replace(partitions=rows)


def _refused(topic: ListOffsetsTopic, code: int) -> ListOffsetsTopicResponse:
    return ListOffsetsTopicResponse(
        topic.name, [ListOffsetsPartitionResponse(row.partition_index, code) for row in topic.partitions]
    )
