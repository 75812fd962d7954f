"""CreatePartitions (37), versions 0-3.

KIP: 195.
ACL: ALTER on the topic.
Errors by topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REQUEST,
INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, POLICY_VIOLATION; REASSIGNMENT_IN_PROGRESS in ZooKeeper mode.
"""

from common.error_codes import ErrorCode
from controller.messages.events import CreatePartitions, NewPartitions
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from server.dispatch.authorizer import Operation
from server.dispatch.context import Context
from server.dispatch.registry import handles
from server.dispatch.row_errors import DENIED, DUPLICATE, Verdict, merged, repeated


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
    """Hand the topics that are named once and may be altered to the controller."""
    twice = repeated(topic.name for topic in request.topics)
    refusals: list[Verdict | None] = [
        DUPLICATE
        if topic.name in twice
        else None
        if context.allows_topic(Operation.ALTER, topic.name)
        else DENIED
        for topic in request.topics
    ]
    accepted = [
        _new_partitions(topic)
        for topic, refusal in zip(request.topics, refusals, strict=True)
        if refusal is None
    ]
    answers = await context.services.driver.submit(CreatePartitions(accepted, request.validate_only))
    return _response(request, merged(refusals, [outcome for _, outcome in answers]))


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    by_hand = topic.assignments
    replicas = None if by_hand is None else [assignment.broker_ids for assignment in by_hand]
    return NewPartitions(topic.name, topic.count_, replicas)


def _response(request: CreatePartitionsRequest, verdicts: list[Verdict]) -> CreatePartitionsResponse:
    rows = zip(request.topics, verdicts, strict=True)
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(topic.name, code, message) for topic, (code, message) in rows]
    )
