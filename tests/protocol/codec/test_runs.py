from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.run_reader import RunReader
from protocol.codec.run_writer import RunWriter
from protocol.codec.runs import RowShape, is_flat
from protocol.codec.source import Layout
from protocol.codec.wire import codec, schema_of
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
from protocol.messages.leader_and_isr_request import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from tests.examples import examples
from tests.protocol.flat_rows import MESSAGES
from tests.protocol.messages import a_message
from tests.protocol.oracle import peer_bytes


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


@settings(max_examples=examples(60), deadline=None)
@given(message_and_version=MESSAGES)
def test_encoded_rows_of_any_shapes_are_decoded_again(message_and_version: tuple[Any, int]) -> None:
    message, version = message_and_version
    ours = codec(type(message), version)
    assert ours.decode(ours.encode(message)) == message


@settings(max_examples=examples(60), deadline=None)
@given(message_and_version=MESSAGES, data=st.data())
def test_a_damaged_run_raises_only_decode_errors(
    message_and_version: tuple[Any, int], data: st.DataObject
) -> None:
    message, version = message_and_version
    ours = codec(type(message), version)
    valid = ours.encode(message)
    at = data.draw(st.integers(0, len(valid) - 1))
    damaged = valid[:at] + data.draw(st.binary(min_size=0, max_size=2)) + valid[at + 1 :]
    try:
        decoded = ours.decode(damaged)
    except DecodeError:
        return
    assert isinstance(decoded, type(message))


def rows_read(rows: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
    """Read `rows` back; return them and how many of them were read one by one."""
    ours = codec(AlterPartitionReassignmentsRequest, 1)
    data = ours.encode(AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("t", rows),)))
    start = 4 + 1 + 1 + 2 + (1 if len(rows) < 127 else 2)
    one_by_one = 0

    def read_rows(data: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        nonlocal one_by_one
        one_by_one += count
        widths = [4 + 1 + 4 * len(row.replicas or ()) + 1 for row in rows]
        at = next(index for index in range(len(rows)) if start + sum(widths[:index]) == pos)
        return rows[at : at + count], pos + sum(widths[at : at + count])

    layout = Layout(schema_of(AlterPartitionReassignmentsRequest), 1)
    read, end = RunReader(layout, ReassignablePartition, read_rows)(data, start, len(rows))
    assert end == len(data) - 2
    return read, one_by_one


def test_a_long_run_is_read_whole() -> None:
    rows = tuple(ReassignablePartition(p, (1, 2, 3)) for p in range(1000))
    assert rows_read(rows) == (rows, 0)


def test_runs_of_two_shapes_are_read_whole() -> None:
    rows = tuple(ReassignablePartition(p, (1, 2, 3) if p < 500 else None) for p in range(1000))
    assert rows_read(rows) == (rows, 0)


def test_rows_that_all_differ_are_read_one_by_one() -> None:
    rows = tuple(ReassignablePartition(p, (1,) * (p % 3)) for p in range(100))
    assert rows_read(rows) == (rows, 100)


def test_a_run_cut_short_is_refused() -> None:
    ours = codec(AlterPartitionReassignmentsRequest, 1)
    rows = [ReassignablePartition(p, (1, 2, 3)) for p in range(100)]
    data = ours.encode(AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("t", rows),)))
    with pytest.raises(DecodeError, match="cut short"):
        ours.decode(data[:-10])


@settings(max_examples=examples(10), deadline=None)
@given(message=a_message(schema_of(AlterPartitionReassignmentsRequest), 1, rows=60))
def test_unknown_tags_of_a_row_end_a_run(message: AlterPartitionReassignmentsRequest) -> None:
    rows = [ReassignablePartition(p, (1,)) for p in range(100)]
    ours = codec(AlterPartitionReassignmentsRequest, 1)
    data = ours.encode(message._replace(topics=(ReassignableTopic("t", rows),)))
    row = ours.encode(message._replace(topics=(ReassignableTopic("t", rows[50:51]),)))[9:19]
    at = data.index(row)
    tagged = data[: at + 9] + b"\x01\x63\x01\xff" + data[at + 10 :]
    assert ours.decode(tagged) == ours.decode(data)


@settings(max_examples=examples(60), deadline=None)
@given(message_and_version=MESSAGES)
def test_bytes_of_any_shapes_equal_those_of_kafka_python(message_and_version: tuple[Any, int]) -> None:
    message, version = message_and_version
    assert codec(type(message), version).encode(message) == peer_bytes(
        schema_of(type(message)), version, message
    )


def rows_written_one_by_one(rows: list[Any]) -> int:
    """Return how many rows a run writer left to the function for single rows."""
    left: list[Any] = []
    layout = Layout(schema_of(AlterPartitionReassignmentsRequest), 1)
    writer = RunWriter(layout, ReassignablePartition, lambda some, _: left.extend(some))
    writer(rows, bytes)
    return len(left)


def test_a_long_run_is_packed_whole() -> None:
    assert rows_written_one_by_one([ReassignablePartition(p, (1, 2, 3)) for p in range(1000)]) == 0


def test_after_a_change_of_shape_the_next_run_is_found() -> None:
    rows = [ReassignablePartition(p, (1, 2, 3) if p < 1000 else None) for p in range(2000)]
    assert rows_written_one_by_one(rows) < 600


def test_long_arrays_and_few_rows_get_no_function() -> None:
    assert rows_written_one_by_one([ReassignablePartition(p, tuple(range(65))) for p in range(64)]) == 64
    assert rows_written_one_by_one([ReassignablePartition(p) for p in range(31)]) == 31


def test_a_bad_value_inside_a_run_is_refused_with_its_reason() -> None:
    rows = [ReassignablePartition(p if p != 70 else 2**31, (1,)) for p in range(100)]
    message = AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("t", rows),))
    with pytest.raises(EncodeError, match="'i' format requires"):
        codec(AlterPartitionReassignmentsRequest, 1).encode(message)
