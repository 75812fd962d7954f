"""Which structs are flat, and the shape of their rows."""

from protocol.codec.runs import RowShape, is_flat
from protocol.codec.source import Layout
from protocol.codec.wire import schema_of
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.leader_and_isr_request import LeaderAndIsrPartitionState, LeaderAndIsrRequest


def test_rows_of_numbers_and_arrays_are_flat_until_they_hold_a_name() -> None:
    schema = schema_of(LeaderAndIsrRequest)
    flat = [is_flat(Layout(schema, version), LeaderAndIsrPartitionState) for version in range(4)]
    assert flat == [False, False, True, True]


def test_a_message_that_may_be_null_leaves_a_row_flat_and_a_list_of_rows_does_not() -> None:
    layout = Layout(schema_of(AlterPartitionReassignmentsResponse), 1)
    assert is_flat(layout, ReassignablePartitionResponse)
    assert not is_flat(layout, ReassignableTopicResponse)


def test_the_shape_of_a_row_gives_its_formats() -> None:
    row = RowShape(Layout(schema_of(LeaderAndIsrRequest), 4), LeaderAndIsrPartitionState, (2, 1, 0, 0))
    assert row.width == 4 * 4 + 1 + 2 * 4 + 4 + 1 + 4 + 1 + 1 + 1 + 1
    assert row.read_format == ">iiii1x2ii1x1i1x1x?1x"
    assert row.write_format == ">iiiiB2iiB1iBB?B"
    assert row.names[4:6] == ["isr_0", "isr_1"]


def test_null_has_no_variables() -> None:
    layout = Layout(schema_of(AlterPartitionReassignmentsResponse), 1)
    row = RowShape(layout, ReassignablePartitionResponse, (None,))
    assert row.names == ["partition_index", "error_code"]
    assert row.expression(layout.plain(ReassignablePartitionResponse)[2]) == "None"
