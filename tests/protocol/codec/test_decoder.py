"""What the decoder does with bytes that are no message."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec.decoder import DecoderWriter
from protocol.codec.errors import DecodeError
from protocol.codec.runs import HOT_ROWS
from protocol.codec.schema import Message, version_range
from protocol.codec.wire import codec, schema_of
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.create_topics_response import CreateTopicsResponse
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_response import MetadataResponse
from tests.examples import examples, some
from tests.protocol.handmade import Handmade, Inner, Row
from tests.protocol.messages import a_message, all_schemas, all_versions


def title(value: Any) -> str:
    return value.root.__name__ if isinstance(value, Message) else f"v{value}"


def decode_or_refuse(schema: Message, version: int, data: bytes) -> None:
    try:
        decoded: Any = codec(schema.root, version).decode(data)
    except DecodeError:
        return
    assert isinstance(decoded, schema.root)


@pytest.mark.parametrize("schema", some(all_schemas(), "random"), ids=title)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.binary(max_size=300), choice=st.randoms(use_true_random=False))
def test_random_bytes_raise_only_decode_errors(schema: Message, data: bytes, choice: Any) -> None:
    decode_or_refuse(schema, choice.choice(version_range(schema.versions)), data)


@pytest.mark.parametrize("schema", some(all_schemas(), "damaged"), ids=title)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_damaged_messages_raise_only_decode_errors(schema: Message, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(version_range(schema.versions)))
    valid = codec(schema.root, version).encode(data.draw(a_message(schema, version)))
    for at in range(0, len(valid), max(1, len(valid) // 20)):
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            decode_or_refuse(schema, version, valid[:at] + bytes([byte]) + valid[at + 1 :])


@pytest.mark.parametrize(("schema", "version"), all_versions(), ids=title)
def test_a_message_cut_short_is_refused(schema: Message, version: int) -> None:
    valid = codec(schema.root, version).encode(schema.root())
    for end in range(len(valid)):
        with pytest.raises(DecodeError):
            codec(schema.root, version).decode(valid[:end])


@pytest.mark.parametrize("schema", all_schemas(), ids=title)
@pytest.mark.parametrize("filler", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07"], ids=["old", "compact"])
def test_memory_does_not_depend_on_a_stated_count(schema: Message, filler: bytes) -> None:
    versions = version_range(schema.versions)
    data = b"\x00" * 9 + filler * 20
    for version in versions:
        decode_or_refuse(schema, version, data)  # compiled before it is measured
    tracemalloc.start()
    try:
        for version in versions:
            for start in range(9):
                decode_or_refuse(schema, version, data[start:])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(
    ("message", "version", "data", "reason"),
    [
        (
            ListPartitionReassignmentsResponse,
            0,
            "00000000 0000 00 00 00",
            "null where the version has no null",
        ),
        (
            ListPartitionReassignmentsResponse,
            0,
            "00000000 0000 00 05 00",
            "4 elements where 1 bytes are left",
        ),
        (ListPartitionReassignmentsResponse, 0, "00000000 0000 03 ff", "length 2 where 1 bytes are left"),
        (ListPartitionReassignmentsResponse, 0, "00000000 0000 02 ff 01 00", "invalid start byte"),
        (ListPartitionReassignmentsResponse, 0, "00000000 0000 ffffffff7f", "longer than 32 bits"),
        (ListPartitionReassignmentsResponse, 0, "00000000 0000 ffffffff0f", "a string of 4294967294 bytes"),
        (MetadataResponse, 0, "fffffffe", "-2 elements"),
        (MetadataResponse, 0, "ffffffff", "null where the version has no null"),
        (MetadataResponse, 0, "00000001 00000000 ffff 00000000 00000000", "length -1"),
        (AlterPartitionReassignmentsRequest, 0, "00000000 01", "cut short"),
        (DescribeTopicPartitionsRequest, 0, "01 00000000", "cut short"),
    ],
)
def test_the_reason_is_given(message: type, version: int, data: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        codec(message, version).decode(bytes.fromhex(data))


def test_a_known_tag_is_read_among_unknown_ones() -> None:
    row = bytes.fromhex("02 61" + "00" * 16 + "0000 00 ffffffff ffff 00" + "02 00 02 0024 05 01 aa")
    message = codec(CreateTopicsResponse, 7).decode(bytes.fromhex("00000000 02") + row + b"\x00")
    assert message.topics[0].topic_config_error_code == 36


def test_a_nullable_struct_has_a_byte_before_it() -> None:
    absent, present = (
        codec(DescribeTopicPartitionsRequest, 0).decode(bytes.fromhex(f"01 00000000 {tail}"))
        for tail in ("ff 00", "01 02 61 00000007 00 00")
    )
    assert absent.cursor is None
    assert present.cursor is not None
    assert present.cursor.partition_index == 7


@pytest.mark.parametrize("rows", [1, 10, 100, 500])
@pytest.mark.parametrize("version", [0, 1])
def test_structs_in_place_and_fields_with_the_names_of_variables_survive(version: int, rows: int) -> None:
    row = Row(1, (2, 3)) if version else Row(1)
    message = Handmade(Inner(65535, 0.5), (row,) * rows, b"abc", Inner(1) if version else None)
    ours = codec(Handmade, version)
    for _ in range(HOT_ROWS):
        assert ours.decode(ours.encode(message)) == message


def test_a_tag_of_one_row_in_a_run_is_kept() -> None:
    rows = [Row(p, (1,), (5,) if p == 70 else None) for p in range(100)]
    ours = codec(Handmade, 1)
    assert ours.decode(ours.encode(Handmade(tags=rows))).tags == tuple(rows)


def test_fields_that_the_version_lacks_have_their_defaults() -> None:
    data = codec(LeaderAndIsrRequest, 0).encode(LeaderAndIsrRequest(broker_epoch=7))
    assert codec(LeaderAndIsrRequest, 0).decode(data).broker_epoch == -1


def test_the_source_of_a_decoder_can_be_read() -> None:
    text = DecoderWriter(schema_of(MetadataResponse), 12).source.text()
    assert "def read_MetadataResponseTopic(data, pos, count):" in text
