"""DeleteTopics (20), versions 1-6.

KIP: 4, 516 (v6, topic ids). A topic with partitions that are moving is deleted after their steps have ended.
ACL: DELETE on the cluster or on the topic.
Errors by topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST.
"""

from common.error_codes import ErrorCode
from common.tasks import wait_while
from controller.messages.events import DeleteTopics
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from server.dispatch.context import (
    DUPLICATE_TOPIC,
    TOPIC_DENIED,
    Context,
    RowError,
    merged,
    repeated,
)
from server.dispatch.registry import handles


def refuse(request: DeleteTopicsRequest, code: int, message: str | None) -> DeleteTopicsResponse:
    """Repeat the error for every topic."""
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name, id_, code, message) for name, id_ in _topics(request)]
    )


@handles(ApiKey.DELETE_TOPICS, DeleteTopicsRequest, versions=(1, 6), refuse=refuse)
async def handle(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    """Submit the topics without an error: known, named once, and the principal has DELETE.

    The response waits until the brokers have deleted their replicas, for the timeout of the request at most:
    as with Kafka, a client may create a topic of the same name after it.
    """
    topics = _topics(request)
    names = [_name(topic, context) for topic in topics]
    duplicates = repeated(name for name in names if name is not None)
    refusals = [DUPLICATE_TOPIC if name in duplicates else _refusal(name, context) for name in names]
    accepted = [
        name for name, refusal in zip(names, refusals, strict=True) if name is not None and refusal is None
    ]
    outcomes = await context.services.driver.submit(DeleteTopics(accepted))
    dropping = context.state.cluster.dropping
    await wait_while(lambda: any(name in dropping for name in accepted), request.timeout_ms / 1000)
    errors = merged(refusals, [outcome for _, outcome in outcomes])
    visible_names = [
        name
        if topic.name is not None or name is None or _allowed(Operation.DESCRIBE, name, context)
        else None
        for topic, name in zip(topics, names, strict=True)
    ]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name, topic.topic_id, code, message)
            for topic, name, (code, message) in zip(topics, visible_names, errors, strict=True)
        ]
    )


def _topics(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    """Return the topics of the request. Versions 1-5 have names only."""
    return [*request.topics, *map(DeleteTopicState, request.topic_names)]


def _name(topic: DeleteTopicState, context: Context) -> str | None:
    return topic.name if topic.name is not None else context.state.cluster.topic_names.get(topic.topic_id)


def _refusal(name: str | None, context: Context) -> RowError | None:
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID, None
    return None if _allowed(Operation.DELETE, name, context) else TOPIC_DENIED


def _allowed(operation: Operation, name: str, context: Context) -> bool:
    # As in KRaft, DELETE on the cluster permits everything here.
    return context.allows(Operation.DELETE) or context.allows_topic(operation, name)
