"""What the encoder refuses, field by field, and the source it writes."""

from typing import Any, cast

import pytest

from protocol.codec.encoder import EncoderWriter
from protocol.codec.errors import EncodeError
from protocol.codec.wire import codec, schema_of
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.describe_topic_partitions_response import Cursor, DescribeTopicPartitionsResponse
from protocol.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tests.protocol.handmade import Handmade, Row


def leader_and_isr(state: LeaderAndIsrPartitionState, rows: int = 1) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(topic_states=(LeaderAndIsrTopicState("t", partition_states=(state,) * rows),))


@pytest.mark.parametrize("rows", [1, 100])
def test_a_value_in_a_field_that_the_version_lacks_is_refused_in_every_row(rows: int) -> None:
    request = leader_and_isr(LeaderAndIsrPartitionState(leader_recovery_state=1), rows)
    with pytest.raises(EncodeError, match="leader_recovery_state has a value"):
        codec(LeaderAndIsrRequest, 3).encode(request)


@pytest.mark.parametrize("rows", [1, 100])
def test_null_is_refused_where_the_version_has_none(rows: int) -> None:
    state = LeaderAndIsrPartitionState(isr=cast(Any, None))
    for version in (3, 4):
        with pytest.raises(EncodeError, match="null where the version has no null"):
            codec(LeaderAndIsrRequest, version).encode(leader_and_isr(state, rows))


@pytest.mark.parametrize("rows", [1, 10, 100])
def test_lists_in_fields_that_the_version_lacks_are_refused_in_every_row(rows: int) -> None:
    ours = codec(Handmade, 0)
    ours.encode(Handmade(tags=[Row(1)] * 100))
    for row in (Row(1, (2,)), Row(1, note=())):
        with pytest.raises(EncodeError, match="has a value"):
            ours.encode(Handmade(tags=[Row(1)] * (rows - 1) + [row]))
    assert ours.encode(Handmade(tags=[Row(1, cast(Any, []))])) == ours.encode(Handmade(tags=[Row(1)]))


def test_null_arrays_are_refused_where_the_version_has_none() -> None:
    assert codec(MetadataRequest, 1).encode(MetadataRequest(topics=None)) == b"\xff\xff\xff\xff"
    with pytest.raises(EncodeError, match="MetadataRequest v0: null where the version has no null"):
        codec(MetadataRequest, 0).encode(MetadataRequest(topics=None))


def test_a_uuid_must_have_16_bytes() -> None:
    with pytest.raises(EncodeError, match="a UUID of 15 bytes"):
        codec(MetadataResponse, 12).encode(
            MetadataResponse(topics=(MetadataResponseTopic(0, "t", bytes(15)),))
        )


def test_a_tag_is_written_when_it_differs_from_its_default() -> None:
    ours = codec(CreateTopicsResponse, 7)
    plain, tagged = (
        ours.encode(CreateTopicsResponse(topics=(CreatableTopicResult("t", topic_config_error_code=code),)))
        for code in (0, 36)
    )
    assert tagged == plain[:-2] + bytes.fromhex("01 00 02 0024") + b"\x00"


def test_a_long_tag_and_long_strings_have_long_lengths() -> None:
    batch = [CurrentBatchTopic("t" * length) for length in (126, 127, 200)]
    ours = codec(ListPartitionReassignmentsResponse, 0)
    data = ours.encode(ListPartitionReassignmentsResponse(current_batch=batch))
    assert data[8:].startswith(bytes.fromhex("01 b303 d103 04 7f") + b"t" * 126)
    assert [topic.name for topic in ours.decode(data).current_batch or ()] == [topic.name for topic in batch]


def test_a_nullable_struct_has_a_byte_before_it() -> None:
    ours = codec(DescribeTopicPartitionsResponse, 0)
    absent = ours.encode(DescribeTopicPartitionsResponse())
    present = ours.encode(DescribeTopicPartitionsResponse(next_cursor=Cursor("a", 7)))
    assert absent == bytes.fromhex("00000000 01 ff 00")
    assert present == bytes.fromhex("00000000 01 01 02 61 00000007 00 00")


@pytest.mark.parametrize("rows", [1, 100])
def test_plain_tuples_are_encoded_like_rows(rows: int) -> None:
    plain: Any = [(index, 39, "no") for index in range(rows)]
    made = [ReassignablePartitionResponse(*row) for row in plain]
    encoded = [
        codec(AlterPartitionReassignmentsResponse, 0).encode(
            AlterPartitionReassignmentsResponse(responses=[ReassignableTopicResponse("foo", each)])
        )
        for each in (plain, made)
    ]
    assert encoded[0] == encoded[1]


def test_the_source_of_an_encoder_can_be_read() -> None:
    text = EncoderWriter(schema_of(MetadataResponse), 12).source.text()
    assert "def write_MetadataResponseTopic(rows, write):" in text
