"""CreatePartitions (37), versions 0-3.

KIP: 195.
ACL: ALTER on the topic.
Errors by topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REQUEST,
INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, POLICY_VIOLATION; REASSIGNMENT_IN_PROGRESS (ZooKeeper
mode).
"""

from common.error_codes import ErrorCode
from controller.messages.events import CreatePartitions, NewPartitions
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from server.dispatch.context import (
    DUPLICATE_TOPIC,
    TOPIC_DENIED,
    Context,
    RowError,
    merged,
    repeated,
)
from server.dispatch.registry import handles


def refuse(request: CreatePartitionsRequest, code: int, message: str | None) -> CreatePartitionsResponse:
    """Repeat the error for every topic."""
    return _response(request, [(code, message)] * len(request.topics))


@handles(
    ApiKey.CREATE_PARTITIONS,
    CreatePartitionsRequest,
    versions=(0, 3),
    refuse=refuse,
    bounds=Bounds(rows=50_000, numbers=200_000),
    excess=ErrorCode.POLICY_VIOLATION,
)
async def handle(request: CreatePartitionsRequest, context: Context) -> CreatePartitionsResponse:
    """Submit the topics without an error to the controller: named once, and the principal has ALTER."""
    duplicates = repeated(topic.name for topic in request.topics)
    refusals: list[RowError | None] = [
        DUPLICATE_TOPIC
        if topic.name in duplicates
        else None
        if context.allows_topic(Operation.ALTER, topic.name)
        else TOPIC_DENIED
        for topic in request.topics
    ]
    accepted = [
        _new_partitions(topic)
        for topic, refusal in zip(request.topics, refusals, strict=True)
        if refusal is None
    ]
    outcomes = await context.services.driver.submit(CreatePartitions(accepted, request.validate_only))
    return _response(request, merged(refusals, [outcome for _, outcome in outcomes]))


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    manual = topic.assignments
    replicas = None if manual is None else [assignment.broker_ids for assignment in manual]
    return NewPartitions(topic.name, topic.count_, replicas)


def _response(request: CreatePartitionsRequest, errors: list[RowError]) -> CreatePartitionsResponse:
    rows = zip(request.topics, errors, strict=True)
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(topic.name, code, message) for topic, (code, message) in rows]
    )
