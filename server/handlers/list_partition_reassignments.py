"""ListPartitionReassignments (46), version 0.

KIP: 455, 435 (tagged field 435: the current batch). Null topics mean all reassignments, null partitions all
of a topic.
ACL: DESCRIBE on the cluster.
Errors: top-level CLUSTER_AUTHORIZATION_FAILED; the response then has the requested partitions with empty
lists.
"""

from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import cast

from controller.model.access import Operation
from controller.state.state import State
from controller.views.reassignments import listed
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from server.dispatch.cache import Encoded
from server.dispatch.context import (
    LARGE_ROWS,
    Context,
)
from server.dispatch.registry import handles

KEPT_ROWS = 500
"""Rows of which to keep encoded topics is cheaper than to encode all of them again."""

RequestedPartitions = Mapping[str, Sequence[int] | None]


def refuse(
    request: ListPartitionReassignmentsRequest, code: int, message: str | None
) -> ListPartitionReassignmentsResponse:
    """Return the requested partitions with empty lists, as Kafka does."""
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
    bounds=Bounds(rows=100_000, numbers=2_000_000),
)
def handle(
    request: ListPartitionReassignmentsRequest, context: Context
) -> ListPartitionReassignmentsResponse | Encoded | Awaitable[Encoded | ListPartitionReassignmentsResponse]:
    """List the ongoing reassignments.

    A long list is made in the worker thread. The list of all is cached until it changes. One of more than
    `KEPT_ROWS` is joined from its topics, of which only those that have changed are encoded again.

    If there are none, every request gets the same empty response. It has its own cache key, so a request for
    some partitions can never get the list of all.
    """
    state = context.state
    bodies, version = context.services.bodies, context.api_version
    if not (state.orders.reassignments or state.gateway.external or state.orders.pending):
        return bodies.get("NoPartitionReassignments", 0, version, _empty, large=False)
    if request.topics is None:
        rows = len(state.orders.reassignments) + len(state.gateway.external)
        return bodies.get(
            "ListPartitionReassignments",
            state.listing.revision,
            version,
            lambda: context.services.listing.build(state) if rows > KEPT_ROWS else _response(state, None),
            large=rows > LARGE_ROWS,
        )
    requested = _requested(request.topics)
    rows = sum(
        state.orders.reassigning.get(name, 0) if indexes is None else len(indexes)
        for name, indexes in requested.items()
    )
    if rows <= LARGE_ROWS:
        return _response(state, requested)
    return context.off_loop(_response, state, requested)


def _requested(topics: Iterable[ListPartitionReassignmentsTopics]) -> RequestedPartitions:
    """Return the requested partitions by topic; one request may name a topic more than once."""
    requested: dict[str, list[int] | None] = {}
    for name, indexes in topics:
        before = requested.setdefault(name, [])
        if indexes is None:
            requested[name] = None
        elif before is not None:
            before += indexes
    return requested


def _empty() -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)


def _response(state: State, requested: RequestedPartitions | None) -> ListPartitionReassignmentsResponse:
    topics: defaultdict[str, list[OngoingPartitionReassignment]] = defaultdict(list)
    batch: defaultdict[str, list[CurrentBatchPartition]] = defaultdict(list)
    for topic, rows in listed(state, requested):
        # Plain tuples are encoded like rows, and cost a third of them.
        topics[topic] += cast("list[OngoingPartitionReassignment]", [(n, *lists[:3]) for n, lists in rows])
        steps = [(n, lists.current, lists.step) for n, lists in rows if lists.step is not None]
        batch[topic] += cast("list[CurrentBatchPartition]", steps)
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[OngoingTopicReassignment(topic, rows) for topic, rows in topics.items()],
        current_batch=[CurrentBatchTopic(topic, rows) for topic, rows in batch.items() if rows] or None,
    )
