"""Record batches, compared with those of kafka-python."""

import struct

import pytest
from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from protocol.codec.errors import DecodeError
from protocol.record_batch import (
    NO_PRODUCER,
    Batch,
    BatchHeader,
    BatchRecord,
    Producer,
    encode_batch,
    read_batches,
    whole_batches,
)
from tests.protocol.batches import batch

NOW = 1_700_000_000_000
OURS = Producer(7, 3)
LEADER_EPOCH = slice(12, 16)
"""Ours is -1, as in the Java client; that of kafka-python is 0. A broker replaces it."""

keys = st.none() | st.binary(max_size=300)
some_records = st.lists(st.builds(BatchRecord, keys, keys), min_size=1, max_size=70)


def by_kafka_python(records: list[BatchRecord], transactional: bool) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=transactional, producer_id=OURS.id,
        producer_epoch=OURS.epoch, base_sequence=11, batch_size=10**7,
    )  # fmt: skip
    for offset, record in enumerate(records):
        builder.append(offset, NOW, record.key, record.value, [])
    return bytes(builder.build())


def only(data: bytes) -> Batch:
    (batch,) = read_batches(data)
    return batch


def with_bytes(data: bytes, position: int, new: bytes) -> bytes:
    """Replace bytes of a batch and correct its checksum."""
    changed = data[:position] + new + data[position + len(new) :]
    return changed[:17] + struct.pack(">I", crc32c(changed[21:])) + changed[21:]


@given(some_records, st.booleans())
def test_batches_have_the_bytes_of_kafka_python(records: list[BatchRecord], transactional: bool) -> None:
    ours, theirs = (
        encode_batch(records, OURS, 11, NOW, transactional),
        by_kafka_python(records, transactional),
    )
    assert ours[: LEADER_EPOCH.start] + ours[LEADER_EPOCH.stop :] == theirs[:12] + theirs[16:]


@given(some_records)
def test_batches_of_kafka_python_can_be_read(records: list[BatchRecord]) -> None:
    batch = only(by_kafka_python(records, True))
    assert [record for _, record in batch.records()] == records
    assert batch.header == BatchHeader(0, len(records) - 1, 0, OURS, 11, 0x10, NOW, len(records))


@given(some_records, some_records)
def test_kafka_python_reads_our_batches(first: list[BatchRecord], second: list[BatchRecord]) -> None:
    theirs = MemoryRecords(b"".join(encode_batch(records, OURS, 0, NOW) for records in (first, second)))
    while (batch := theirs.next_batch()) is not None:
        assert batch.validate_crc()
        assert [BatchRecord(record.key, record.value) for record in batch] in (first, second)


def test_offsets_of_records_follow_the_offset_of_their_batch() -> None:
    data = (
        struct.pack(">q", 500)
        + encode_batch([BatchRecord(b"a", b""), BatchRecord(b"b", None)], OURS, 0, NOW)[8:]
    )
    assert [offset for offset, _ in only(data).records()] == [500, 501]
    assert only(data).header.last_offset == 501


def test_a_batch_that_is_cut_off_ends_the_data() -> None:
    data = encode_batch([BatchRecord(b"a", b"1")], OURS, 0, NOW)
    for size in range(len(data)):
        assert len(list(read_batches(data + data[:size]))) == 1


@pytest.mark.parametrize(("kind", "commits"), [(0, False), (1, True)])
def test_a_marker_commits_or_aborts(kind: int, commits: bool) -> None:
    marker = encode_batch([BatchRecord(struct.pack(">hh", 0, kind), b"\0" * 6)], OURS, 0, NOW)
    batch = only(with_bytes(marker, 21, b"\0\x30"))
    assert (batch.header.control, batch.header.transactional, batch.commits()) == (True, True, commits)


def test_a_control_batch_without_a_marker_is_refused() -> None:
    with pytest.raises(DecodeError, match="no marker"):
        only(encode_batch([BatchRecord(None, None)], OURS, 0, NOW)).commits()


@pytest.mark.parametrize(
    ("position", "new", "message"),
    [
        (16, b"\1", "format 1"),
        (8, struct.pack(">i", 20), "20 bytes"),
    ],
)
def test_a_batch_that_cannot_be_read_is_named(position: int, new: bytes, message: str) -> None:
    data = encode_batch([BatchRecord(b"a", b"1")], OURS, 0, NOW)
    with pytest.raises(DecodeError, match=f"offset 0 .*{message}"):
        list(read_batches(with_bytes(data, position, new)))


def test_the_records_of_a_compressed_batch_cannot_be_read() -> None:
    data = with_bytes(encode_batch([BatchRecord(b"a", b"1")], OURS, 0, NOW), 21, b"\0\1")
    with pytest.raises(DecodeError, match="offset 0 is compressed"):
        list(only(data).records())


def test_every_changed_byte_is_found() -> None:
    data = encode_batch([BatchRecord(b"key", b"value")], OURS, 0, NOW)
    for position in range(21, len(data)):
        with pytest.raises(DecodeError, match="checksum"):
            list(read_batches(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]))


@given(st.binary(max_size=60), st.integers(0, 9))
def test_records_of_garbage_raise_decode_errors_only(payload: bytes, count: int) -> None:
    header = BatchHeader(0, 0, 0, Producer(NO_PRODUCER, -1), -1, 0, NOW, count)
    try:
        list(Batch(header, payload).records())
    except DecodeError:
        return
    assert count <= len(payload)


def test_whole_batches_count_with_all_their_records() -> None:
    data = batch(0, 10, 10) + batch(2, 500)
    assert whole_batches(data) == (len(data), 3)


def test_batches_that_have_lost_records_do_not_count() -> None:
    left = batch(7, 500)
    assert whole_batches(batch(0, 10, 10, kept=1) + batch(2, 10, kept=0) + left) == (len(left), 1)


def test_a_batch_of_which_the_header_was_sent_counts() -> None:
    assert whole_batches(batch(0, 10_000)[:61]) == (len(batch(0, 10_000)), 1)


@pytest.mark.parametrize("data", [b"", b"short", bytes(61), batch(0, 1)[:16] + b"\1" + bytes(60)])
def test_what_is_no_batch_tells_nothing(data: bytes) -> None:
    assert whole_batches(data) == (0, 0)
