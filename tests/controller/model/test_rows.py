from controller.messages.job_events import AlterRow
from controller.model.rows import plain, row_maker
from protocol.codec.wire import codec
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def test_a_row_maker_returns_the_same_as_the_constructor() -> None:
    made = row_maker(AlterRow)((3, (1, 2)))
    assert (type(made), made) == (AlterRow, AlterRow(3, (1, 2)))


def test_plain_rows_are_encoded_like_rows_of_the_kind() -> None:
    rows = [(1, 0, None), (2, 39, "no")]
    made = [ReassignablePartitionResponse(*row) for row in rows]
    encoded = [
        codec(AlterPartitionReassignmentsResponse, 0).encode(
            AlterPartitionReassignmentsResponse(responses=[ReassignableTopicResponse("foo", each)])
        )
        for each in (plain(ReassignablePartitionResponse, rows), made)
    ]
    assert encoded[0] == encoded[1]
