"""AlterPartition (56), versions 0-3.

KIP: 497, 704 (v1, recovery state), 841 (v2, topic ids), 903 (v3, broker epochs of the ISR). Partition leaders
send it to the controller. Versions 0 and 1 were named AlterIsr.
ACL: CLUSTER_ACTION on the cluster.
Errors: top-level STALE_BROKER_EPOCH, CLUSTER_AUTHORIZATION_FAILED; by partition UNKNOWN_TOPIC_OR_PARTITION
(v0-1), UNKNOWN_TOPIC_ID (v2), FENCED_LEADER_EPOCH, INVALID_REQUEST, INVALID_UPDATE_VERSION, NOT_CONTROLLER,
INELIGIBLE_REPLICA and NEW_LEADER_ELECTED (v2; v0-1: OPERATION_NOT_ATTEMPTED and FENCED_LEADER_EPOCH).
"""

from collections.abc import Iterator, Sequence

from common.error_codes import ErrorCode
from controller.messages.events import AlterPartition, IsrChange
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages import alter_partition_request as requests
from protocol.messages import alter_partition_response as responses
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_partition_response import AlterPartitionResponse
from server.dispatch.context import (
    LARGE_ROWS,
    Context,
)
from server.dispatch.registry import handles

WITH_TOPIC_IDS = 2
"""The first version that names topics by id."""

BEFORE_TOPIC_IDS: dict[int, int] = {
    ErrorCode.INELIGIBLE_REPLICA: ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.NEW_LEADER_ELECTED: ErrorCode.FENCED_LEADER_EPOCH,
}
"""Error code -> its replacement in versions without topic ids."""


def refuse(_request: AlterPartitionRequest, code: int, _message: str | None) -> AlterPartitionResponse:
    """Return a response that contains only the error code."""
    return AlterPartitionResponse(error_code=code)


@handles(
    ApiKey.ALTER_PARTITION,
    AlterPartitionRequest,
    versions=(0, 3),
    operation=Operation.CLUSTER_ACTION,
    refuse=refuse,
    bounds=Bounds(rows=400_000, numbers=2_000_000),
)
async def handle(request: AlterPartitionRequest, context: Context) -> AlterPartitionResponse:
    """Submit the ISR changes to the controller.

    The response has each partition's state after the decision.
    """
    if context.api_version >= WITH_TOPIC_IDS:
        names = [context.state.cluster.topic_names.get(topic.topic_id) for topic in request.topics]
    else:
        names = [topic.topic_name for topic in request.topics]
    large = sum(len(topic.partitions) for topic in request.topics) > LARGE_ROWS
    translated = (names, request.topics)
    changes = await context.off_loop(_changes, *translated) if large else _changes(*translated)
    event = AlterPartition(request.broker_id, request.broker_epoch, changes)
    reply = await context.services.driver.submit(event)
    if reply.outcome.error:
        return refuse(request, reply.outcome.error, None)
    answered = (request, names, iter([outcome.error for outcome in reply.rows]), context)
    return await context.off_loop(_response, *answered) if large else _response(*answered)


def _changes(names: Sequence[str | None], topics: Sequence[requests.TopicData]) -> list[IsrChange]:
    changes = []
    for name, topic in zip(names, topics, strict=True):
        if name is None:
            continue
        for row in topic.partitions:
            isr = tuple(broker.broker_id for broker in row.new_isr_with_epochs) or row.new_isr
            changes.append(IsrChange(name, row.partition_index, row.leader_epoch, isr, row.partition_epoch))
    return changes


def _response(
    request: AlterPartitionRequest, names: Sequence[str | None], errors: Iterator[int], context: Context
) -> AlterPartitionResponse:
    unknown = ErrorCode.UNKNOWN_TOPIC_ID
    topics = [
        responses.TopicData(
            topic.topic_name,
            topic.topic_id,
            [
                responses.PartitionData(row.partition_index, unknown)
                if name is None
                else _row(name, row.partition_index, next(errors), context)
                for row in topic.partitions
            ],
        )
        for name, topic in zip(names, request.topics, strict=True)
    ]
    return AlterPartitionResponse(topics=topics)


def _row(topic: str, index: int, error: int, context: Context) -> responses.PartitionData:
    if context.api_version < WITH_TOPIC_IDS:
        error = BEFORE_TOPIC_IDS.get(error, error)
    partition = context.state.cluster.partition(topic, index)
    if error or partition is None:
        return responses.PartitionData(index, error)
    return responses.PartitionData(
        index,
        ErrorCode.NONE,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition_epoch=partition.partition_epoch,
    )
