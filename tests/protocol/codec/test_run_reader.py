"""Runs of rows are read as rows are one by one."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec.run_reader import RunReader
from protocol.codec.source import Layout
from protocol.codec.wire import codec, schema_of
from protocol.errors import DecodeError
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.examples import examples
from tests.protocol.flat_rows import MESSAGES
from tests.protocol.messages import a_message


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
