"""ListPartitionReassignments (46), version 0.

KIP: 455; 435 (tagged field 435: the batch under way). Null topics list all, null partitions all of a topic.
ACL: DESCRIBE on the cluster.
Errors: CLUSTER_AUTHORIZATION_FAILED at top level; the requested rows are echoed with empty lists.
"""

from collections.abc import Awaitable, Mapping

from controller.state import State
from controller.views import listed
from protocol.apis import ApiKey
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from server.authorizer import Operation
from server.cache import Encoded
from server.context import LARGE_ROWS, Context
from server.registry import handles
from server.rows import maker

Asked = Mapping[str, tuple[int, ...] | None] | None


def refuse(
    request: ListPartitionReassignmentsRequest, code: int, message: str | None
) -> ListPartitionReassignmentsResponse:
    """Echo the requested partitions with empty lists, as Kafka does."""
    topics = [
        OngoingTopicReassignment(
            topic.name, [OngoingPartitionReassignment(index) for index in topic.partition_indexes or ()]
        )
        for topic in request.topics or ()
    ]
    return ListPartitionReassignmentsResponse(0, code, message, topics)


@handles(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    versions=(0, 0),
    operation=Operation.DESCRIBE,
    refuse=refuse,
)
def handle(
    request: ListPartitionReassignmentsRequest, context: Context
) -> ListPartitionReassignmentsResponse | Encoded | Awaitable[Encoded | ListPartitionReassignmentsResponse]:
    """List what is ongoing; a long list is made off the loop, and that of everything kept until it changes.

    Where nothing is ongoing, that is the answer whatever was asked for.
    """
    state = context.state
    if request.topics is None or not (state.reassignments or state.foreign):
        return context.cached(
            "ListPartitionReassignments",
            state.reassigning_revision,
            len(state.reassignments),
            lambda: _response(state, None),
        )
    asked = {topic.name: topic.partition_indexes for topic in request.topics}
    rows = sum(
        state.moving.get(name, 0) if indexes is None else len(indexes) for name, indexes in asked.items()
    )
    if rows <= LARGE_ROWS:
        return _response(state, asked)
    return context.compute(rows, _response, state, asked)


_row, _batch = maker(OngoingPartitionReassignment), maker(CurrentBatchPartition)


def _response(state: State, asked: Asked) -> ListPartitionReassignmentsResponse:
    topics: dict[str, list[OngoingPartitionReassignment]] = {}
    batch: dict[str, list[CurrentBatchPartition]] = {}
    rows: list[OngoingPartitionReassignment] = []
    steps: list[CurrentBatchPartition] = []
    at = None
    for topic, number, (replicas, adding, removing, step, current) in listed(state, asked):
        if topic != at:
            at, rows, steps = topic, topics.setdefault(topic, []), batch.setdefault(topic, [])
        rows.append(_row((number, replicas, adding, removing)))
        if step is not None:
            steps.append(_batch((number, current, step)))
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[OngoingTopicReassignment(*each) for each in topics.items()],
        current_batch=[CurrentBatchTopic(*each) for each in batch.items() if each[1]] or None,
    )
