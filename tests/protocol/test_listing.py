from hypothesis import given
from hypothesis import strategies as st

from protocol.codec.wire import codec
from protocol.listing import encode_listing, encode_topic
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

brokers = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
numbers = st.integers(0, 2**31 - 1)
rows = st.lists(st.builds(OngoingPartitionReassignment, numbers, brokers, brokers, brokers), max_size=4)
steps = st.lists(st.builds(CurrentBatchPartition, numbers, brokers, brokers), max_size=4)
topics = st.lists(st.tuples(st.text(max_size=200), rows, steps), max_size=200)


@given(topics)
def test_encoded_topics_are_joined_to_the_bytes_that_the_codec_makes(
    listed: list[tuple[str, list[OngoingPartitionReassignment], list[CurrentBatchPartition]]],
) -> None:
    response = ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[OngoingTopicReassignment(name, rows) for name, rows, _ in listed],
        current_batch=[CurrentBatchTopic(name, steps) for name, _, steps in listed if steps] or None,
    )
    parts = [
        encode_topic(OngoingTopicReassignment(name, rows), CurrentBatchTopic(name, steps))
        for name, rows, steps in listed
    ]
    assert encode_listing(parts) == codec(ListPartitionReassignmentsResponse, 0).encode(response)
