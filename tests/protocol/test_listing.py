from hypothesis import given
from hypothesis import strategies as st

from protocol.codec.wire import codec
from protocol.listing import Lists, encode_listing, encode_topic
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

brokers = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
rows = st.tuples(
    st.integers(0, 2**31 - 1), st.tuples(brokers, brokers, brokers, st.none() | brokers, brokers)
)
topics = st.lists(st.tuples(st.text(max_size=200), st.lists(rows, max_size=4)), max_size=200)


def topic(name: str, rows: list[tuple[int, Lists]]) -> OngoingTopicReassignment:
    return OngoingTopicReassignment(
        name, [OngoingPartitionReassignment(number, *lists[:3]) for number, lists in rows]
    )


def batch(name: str, rows: list[tuple[int, Lists]]) -> CurrentBatchTopic:
    moving = [(number, lists) for number, lists in rows if lists[3] is not None]
    return CurrentBatchTopic(
        name, [CurrentBatchPartition(number, current, step or ()) for number, (*_, step, current) in moving]
    )


@given(topics)
def test_encoded_topics_are_joined_to_the_bytes_that_the_codec_makes(
    listed: list[tuple[str, list[tuple[int, Lists]]]],
) -> None:
    batches = [each for name, rows in listed if (each := batch(name, rows)).partitions]
    response = ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[topic(name, rows) for name, rows in listed],
        current_batch=batches or None,
    )
    parts = [encode_topic(name, rows) for name, rows in listed]
    assert encode_listing(parts) == codec(ListPartitionReassignmentsResponse, 0).encode(response)
