"""AlterPartitionReassignments (45), versions 0-1.

KIP: 455, 860 (v1), 236 (tagged field 236: the job). Null topics cancel all reassignments. Null partitions
cancel all reassignments of the topic.
ACL: ALTER on the cluster.
Errors: top-level REQUEST_TIMED_OUT, CLUSTER_AUTHORIZATION_FAILED, each repeated for every partition;
top-level NO_REASSIGNMENT_IN_PROGRESS for a cancel of all reassignments where there is none; by partition
UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
NO_REASSIGNMENT_IN_PROGRESS. The row of a topic without reassignments to cancel has the partition -1.
"""

from time import time_ns
from typing import cast

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.access import Operation
from controller.model.cluster import row_maker
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
)
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from server.dispatch.context import (
    LARGE_ROWS,
    Context,
)
from server.dispatch.registry import handles


def refuse(
    request: AlterPartitionReassignmentsRequest, code: int, message: str | None
) -> AlterPartitionReassignmentsResponse:
    """Repeat the error for every requested partition: the Java client checks their number."""
    topics = [
        ReassignableTopicResponse(
            topic.name,
            [
                ReassignablePartitionResponse(row.partition_index, code, message)
                for row in topic.partitions or ()
            ],
        )
        for topic in request.topics or ()
    ]
    allowed = request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(0, allowed, code, message, topics)


@handles(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsRequest,
    versions=(0, 1),
    operation=Operation.ALTER,
    refuse=refuse,
    bounds=Bounds(rows=2_000_000, numbers=16_000_000),
)
async def handle(
    request: AlterPartitionReassignmentsRequest, context: Context
) -> AlterPartitionReassignmentsResponse:
    """Submit the targets and cancels to the controller.

    An empty request gets an empty error message, as from KRaft.
    """
    if request.topics is not None and not request.topics:
        return AlterPartitionReassignmentsResponse(error_message="")
    topics = request.topics or ()
    rows = len(topics) + sum(len(topic.partitions or ()) for topic in topics[:LARGE_ROWS])
    large = rows > LARGE_ROWS
    event = await context.off_loop(_event, request, context) if large else _event(request, context)
    reply = await context.services.driver.submit(event)
    rows = len(reply.topics) + sum(len(topic.rows) for topic in reply.topics[:LARGE_ROWS])
    large = rows > LARGE_ROWS
    return await context.off_loop(_response, request, reply) if large else _response(request, reply)


_row = row_maker(AlterRow)


def _event(request: AlterPartitionReassignmentsRequest, context: Context) -> AlterReassignments:
    topics = None
    if request.topics is not None:
        # None instead of rows cancels the whole topic.
        rows = [
            None if topic.partitions is None else list(map(_row, topic.partitions))
            for topic in request.topics
        ]
        topics = [
            AlterTopic(topic.name, targets) for topic, targets in zip(request.topics, rows, strict=True)
        ]
    return AlterReassignments(
        topics,
        time_ns() // 1_000_000 + request.timeout_ms,
        request.allow_replication_factor_change,
        context.requester,
    )


def _response(
    request: AlterPartitionReassignmentsRequest, reply: AlterReply
) -> AlterPartitionReassignmentsResponse:
    topics = []
    for topic, rows in reply.topics:
        # Plain tuples are encoded like rows, and cost a third of them.
        answered = [(index, error, message) for index, (error, message) in rows]
        topics.append(ReassignableTopicResponse(topic, cast("list[ReassignablePartitionResponse]", answered)))
    error, message = reply.outcome
    allowed = request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(0, allowed, error, message, topics, reply.job)
