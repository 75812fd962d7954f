"""Rows are counted without being decoded, and a message that has too many keeps its beginning."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec.schema import FIXED_FORMATS, Message
from protocol.codec.source import Layout
from protocol.codec.wire import codec
from protocol.counter import Bounds, counter
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.examples import examples, some
from tests.protocol.messages import a_message, all_versions

MANY = 10**9
REQUESTS = [(schema, version) for schema, version in all_versions() if schema.kind == "request"]


def cut(message: Any, version: int, rows: int = MANY, numbers: int = MANY) -> Any:
    data = codec(type(message), version).encode(message)
    return counter(type(message), version).cut(data, Bounds(rows, numbers))


def rows_of(layout: Layout, struct: type, message: Any) -> int:
    """Counted the slow way, in what has been decoded; fields in tags are left out."""
    found = 0
    for field in layout.plain(struct):
        value, inner = getattr(message, field.name), layout.struct_of(field)
        if value is None or (inner is None and not field.is_array) or field.element in FIXED_FORMATS:
            continue
        each = value if field.is_array else (value,)
        found += len(each) if field.is_array else 0
        found += sum(rows_of(layout, inner, row) for row in each) if inner is not None else 0
    return found


@pytest.mark.parametrize(
    ("schema", "version"), some(REQUESTS, "rows"), ids=lambda each: getattr(each, "root", each)
)
@given(st.data())
@settings(max_examples=examples(4), deadline=None)
def test_as_many_rows_are_counted_as_are_decoded(schema: Message, version: int, data: st.DataObject) -> None:
    message = data.draw(a_message(schema, version, 6))
    layout = Layout(schema, version)
    if any(layout.tagged(struct) for struct in schema.structs):
        assert cut(message, version) is None
        return
    rows = rows_of(layout, schema.root, message)
    assert cut(message, version, rows) is None
    assert rows == 0 or cut(message, version, rows - 1) is not None


def test_a_truncated_message_keeps_its_first_rows_and_the_fields_before_them() -> None:
    request = DescribeTopicPartitionsRequest([TopicRequest(f"foo-{n}") for n in range(5_000)], 7)
    beginning = cut(request, 0, rows=4_999)
    assert [each.name for each in beginning.topics] == [f"foo-{n}" for n in range(1_000)]
    assert (beginning.response_partition_limit, beginning.cursor) == (2000, None)
    assert cut(request, 0, rows=5_000) is None


def test_rows_inside_rows_count_and_only_whole_ones_are_kept() -> None:
    rows = [ReassignablePartition(n, (1, 2, 3)) for n in range(100)]
    request = AlterPartitionReassignmentsRequest(
        5, topics=[ReassignableTopic(f"t{n}", rows) for n in range(30)]
    )
    for version in (0, 1):
        assert cut(request, version, rows=3_030) is None
        beginning = cut(request, version, rows=3_029)
        assert beginning.timeout_ms == 5
        assert [topic.name for topic in beginning.topics] == [f"t{n}" for n in range(10)]
    assert cut(request._replace(topics=[ReassignableTopic("foo", rows)]), 1, rows=50).topics == ()


def test_numbers_are_counted_apart() -> None:
    topic = ListPartitionReassignmentsTopics("foo", tuple(range(1_000)))
    request = ListPartitionReassignmentsRequest(topics=[topic])
    assert cut(request, 0, rows=1, numbers=1_000) is None
    assert cut(request, 0, rows=1, numbers=999).topics == ()


def test_replicas_count_as_numbers_also_in_rows_that_are_alike() -> None:
    rows = [ReassignablePartition(n, tuple(range(50))) for n in range(1_000)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("foo", rows)])
    assert cut(request, 1, numbers=60_000) is None
    assert cut(request, 1, numbers=40_000) is not None


def test_strings_in_arrays_are_rows() -> None:
    names = DeleteTopicsRequest(topic_names=[f"foo-{n}" for n in range(2_000)])
    assert cut(names, 3, rows=2_000) is None
    assert len(cut(names, 5, rows=1_999).topic_names) == 1_000


def test_unknown_tags_count_by_their_bytes() -> None:
    data = codec(CreateTopicsRequest, 7).encode(CreateTopicsRequest())
    assert data.endswith(b"\0")
    tags = data[:-1] + b"\x02" + b"\x01\x64" + bytes(100) + b"\x02\x64" + bytes(100)
    assert counter(CreateTopicsRequest, 7).cut(tags, Bounds(200, 200)) is None
    assert counter(CreateTopicsRequest, 7).cut(tags, Bounds(100, 200)) == CreateTopicsRequest()


@pytest.mark.parametrize("end", range(1, 12))
def test_an_incomplete_message_is_left_to_the_decoder(end: int) -> None:
    data = codec(CreateTopicsRequest, 7).encode(CreateTopicsRequest([CreatableTopic("foo")]))
    assert counter(CreateTopicsRequest, 7).cut(data[:-end], Bounds(10, 10)) is None


def test_small_messages_are_not_counted() -> None:
    assert Bounds(100, 200).surely_hold(100)
    assert not Bounds(100, 200).surely_hold(101)
    assert not Bounds(200, 100).surely_hold(101)
