"""ElectLeaders (43), versions 0-2.

KIP: 183, 460 (v1, unclean elections). Null partitions mean all; the response then omits partitions that need
no election.
ACL: ALTER on the cluster.
Errors: top-level CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST; by partition UNKNOWN_TOPIC_OR_PARTITION,
ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from common.error_codes import ErrorCode
from controller.messages.events import ElectionType, ElectLeaders
from controller.model.access import Operation
from controller.model.cluster import TopicPartition
from controller.model.errors import Outcome
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.counter import Bounds
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from server.dispatch.context import (
    LARGE_ROWS,
    Context,
)
from server.dispatch.registry import handles


def refuse(request: ElectLeadersRequest, code: int, message: str | None) -> ElectLeadersResponse:
    """Repeat the error for every requested partition."""
    results = [
        ReplicaElectionResult(
            topic.topic, [PartitionResult(index, code, message) for index in topic.partitions]
        )
        for topic in request.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=code, replica_election_results=results)


@handles(
    ApiKey.ELECT_LEADERS,
    ElectLeadersRequest,
    versions=(0, 2),
    operation=Operation.ALTER,
    refuse=refuse,
    bounds=Bounds(rows=20_000, numbers=200_000),
)
async def handle(request: ElectLeadersRequest, context: Context) -> ElectLeadersResponse:
    """Submit the elections to the controller."""
    try:
        election = ElectionType(request.election_type)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"{request.election_type} is not an election type"
        ) from None
    topics = request.topic_partitions
    keys = None
    if topics is not None:
        large = sum(len(topic.partitions) for topic in topics) > LARGE_ROWS
        keys = await context.off_loop(_keys, topics) if large else _keys(topics)
    rows = await context.services.driver.submit(ElectLeaders(election, keys))
    return await context.off_loop(_response, rows) if len(rows) > LARGE_ROWS else _response(rows)


def _keys(topics: Sequence[TopicPartitions]) -> list[TopicPartition]:
    return [TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions]


def _response(rows: Iterable[tuple[TopicPartition, Outcome]]) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(topic, [PartitionResult(key.partition, *outcome) for key, outcome in group])
        for topic, group in groupby(rows, lambda row: row[0].topic)
    ]
    return ElectLeadersResponse(replica_election_results=results)
