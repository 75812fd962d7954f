"""Messages with many flat rows, whose shapes change now and then."""

from typing import Any

from hypothesis import strategies as st

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)

BROKERS = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
PIECES = st.lists(
    st.tuples(st.integers(1, 150), st.none() | BROKERS, BROKERS, st.sampled_from([None, "", "no"])),
    max_size=5,
)


def alter_request(pieces: Any) -> tuple[Any, int]:
    rows = [ReassignablePartition(p, replicas) for n, replicas, _, _ in pieces for p in range(n)]
    return AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("t", tuple(rows)),)), 1


def alter_response(pieces: Any) -> tuple[Any, int]:
    rows = [ReassignablePartitionResponse(p, 39, text) for n, _, _, text in pieces for p in range(n)]
    return AlterPartitionReassignmentsResponse(responses=(ReassignableTopicResponse("t", tuple(rows)),)), 0


def leader_and_isr(pieces: Any) -> tuple[Any, int]:
    rows = [
        LeaderAndIsrPartitionState(
            "", p, 1, 2, 3, some, 4, replicas or (), removing_replicas=some, is_new=p > 3
        )
        for n, replicas, some, _ in pieces
        for p in range(n)
    ]
    return LeaderAndIsrRequest(topic_states=(LeaderAndIsrTopicState("t", partition_states=tuple(rows)),)), 3


MESSAGES = st.builds(
    lambda make, pieces: make(pieces),
    st.sampled_from([alter_request, alter_response, leader_and_isr]),
    PIECES,
)
