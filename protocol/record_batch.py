"""Record batches of format 2: what Produce carries and Fetch returns.

Batches are written without compression and without headers, by an idempotent or a transactional producer. All
formats are refused but 2. The header of each batch is read; its records are read only on demand, and those of
a compressed batch are refused.
"""

import functools
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from google_crc32c import value as crc32c

from protocol.codec.errors import DecodeError
from protocol.codec.writing import varint

MAGIC = 2

NO_PRODUCER = -1
"""Producer id of batches without a producer."""

COMPRESSION_MASK, TRANSACTIONAL, CONTROL = 0x07, 0x10, 0x20
"""Bits of a batch's attributes."""

_HEADER = Struct(">qiibIhiqqqhii")
_CRC_START = 21
"""The checksum covers everything after itself: from the attributes on."""

_LENGTH_START = 12
"""The length of a batch does not count the offset and itself."""

_CONTROL_KEY = Struct(">hh")
_COMMIT = 1


class BatchRecord(NamedTuple):
    """One record of a batch. A value of None is a tombstone: compaction removes the key."""

    key: bytes | None
    value: bytes | None


class Producer(NamedTuple):
    """The identity of a producer. A broker refuses batches of an older epoch of the same id (KIP-360)."""

    id: int
    epoch: int


class BatchHeader(NamedTuple):
    """The header of one batch."""

    offset: int
    """Of the first record that the batch had when it was written."""
    last_offset: int
    leader_epoch: int
    producer: Producer
    sequence: int
    """Of the first record. -1 without a producer, and in control batches."""
    attributes: int
    timestamp_ms: int
    size: int
    """Number of records, which compaction can reduce to 0."""

    @property
    def transactional(self) -> bool:
        """The records take effect when the transaction commits."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """The batch has a marker, which ends a transaction, and no records."""
        return bool(self.attributes & CONTROL)


class Batch(NamedTuple):
    """A header, and the bytes of the records, which `records` and `commits` read."""

    header: BatchHeader
    payload: bytes

    def records(self) -> Iterator[tuple[int, BatchRecord]]:
        """Yield each record and its offset. Raises DecodeError, also for a compressed batch."""
        position, header, payload = 0, self.header, self.payload
        if header.attributes & COMPRESSION_MASK:
            raise DecodeError(f"the batch at offset {header.offset} is compressed")
        try:
            for _ in range(header.size):
                size, position = _read_varint(payload, position)
                end = position + size
                _, position = _read_varint(payload, position + 1)
                delta, position = _read_varint(payload, position)
                key, position = _read_bytes(payload, position)
                value, position = _read_bytes(payload, position)
                if position >= end or end > len(payload):
                    raise DecodeError("a record is longer than its length")
                yield header.offset + delta, BatchRecord(key, value)
                position = end
        except IndexError as failure:
            raise DecodeError("the records of a batch are incomplete") from failure

    def commits(self) -> bool:
        """Tell whether the marker of a control batch commits the transaction. Raises DecodeError."""
        for _, record in self.records():
            if record.key is not None and len(record.key) >= _CONTROL_KEY.size:
                return bool(_CONTROL_KEY.unpack_from(record.key)[1] == _COMMIT)
        raise DecodeError("a control batch has no marker")


def encode_batch(
    records: Sequence[BatchRecord],
    producer: Producer,
    sequence: int,
    timestamp_ms: int,
    transactional: bool = False,
) -> bytes:
    """Encode one batch. `sequence` is that of its first record; all records have the same timestamp."""
    payload = b"".join(_encode_record(delta, record) for delta, record in enumerate(records))
    last = len(records) - 1
    attributes = TRANSACTIONAL if transactional else 0
    fields = (attributes, last, timestamp_ms, timestamp_ms, *producer, sequence, len(records))
    covered = _HEADER.pack(0, 0, 0, MAGIC, 0, *fields)[_CRC_START:] + payload
    length = _HEADER.size + len(payload) - _LENGTH_START
    return _HEADER.pack(0, length, -1, MAGIC, crc32c(covered), *fields)[:_CRC_START] + covered


def read_batches(data: bytes) -> Iterator[Batch]:
    """Yield the batches of a Fetch response, without the last one if it is cut off.

    Raises DecodeError for a wrong checksum and an older format.
    """
    position = 0
    while len(data) - position >= _HEADER.size:
        offset, length, leader_epoch, magic, crc, *fields = _HEADER.unpack_from(data, position)
        end = position + _LENGTH_START + length
        if length < _HEADER.size - _LENGTH_START:
            raise DecodeError(f"the batch at offset {offset} has {length} bytes")
        if magic != MAGIC:
            raise DecodeError(f"the batch at offset {offset} has format {magic}; only {MAGIC} is known")
        if end > len(data):
            return
        if crc32c(data[position + _CRC_START : end]) != crc:
            raise DecodeError(f"the batch at offset {offset} has a wrong checksum")
        attributes, last, _, timestamp_ms, producer_id, epoch, sequence, size = fields
        producer = Producer(producer_id, epoch)
        header = BatchHeader(
            offset, offset + last, leader_epoch, producer, sequence, attributes, timestamp_ms, size
        )
        yield Batch(header, data[position + _HEADER.size : end])
        position = end


def whole_batches(data: bytes) -> tuple[int, int]:
    """Return the bytes and the number of records of those batches that have all their records.

    Only headers are read, so a batch of which no more was sent counts too. What follows a header that cannot
    be one is left out.
    """
    total = records = position = 0
    while len(data) - position >= _HEADER.size:
        _, length, _, magic, _, _, last, *_, size = _HEADER.unpack_from(data, position)
        whole = _LENGTH_START + length
        if magic != MAGIC or whole < _HEADER.size or last < 0:
            break
        # Compaction leaves the offsets of a batch as they were.
        if size == last + 1:
            total, records = total + whole, records + size
        position += whole
    return total, records


def _encode_record(delta: int, record: BatchRecord) -> bytes:
    key, value = record
    body = b"".join((
        b"\0\0", _varint(delta),
        _varint(-1) if key is None else _varint(len(key)) + key,
        _varint(-1) if value is None else _varint(len(value)) + value,
        b"\0",
    ))  # fmt: skip
    return _varint(len(body)) + body


@functools.lru_cache(maxsize=65_536)
def _varint(number: int) -> bytes:
    """Encode a signed varint, which is the unsigned one of a zigzag number. Lengths and deltas repeat."""
    return varint((number << 1) ^ (number >> 63))


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed varint of at most 64 bits; return it and its end.

    Raises IndexError at the end of the data.
    """
    number = data[position]
    position += 1
    if number < 0x80:
        return (number >> 1) ^ -(number & 1), position
    number &= 0x7F
    for shift in range(7, 70, 7):
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
    raise DecodeError("a varint is longer than 64 bits")


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _read_varint(data, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(data):
        raise DecodeError(f"a record has {length} bytes where {len(data) - position} are left")
    return data[position:end], end
