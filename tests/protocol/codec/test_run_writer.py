"""Runs of rows are written as rows are one by one."""

from typing import Any

import pytest
from hypothesis import given, settings

from protocol.codec.run_writer import RunWriter
from protocol.codec.source import Layout
from protocol.codec.wire import codec, schema_of
from protocol.errors import EncodeError
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.examples import examples
from tests.protocol.flat_rows import MESSAGES
from tests.protocol.oracle import peer_bytes


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
