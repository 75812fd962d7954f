"""Primitive types, from bytes."""

import pytest

from protocol.codec.errors import DecodeError
from protocol.codec.reading import (
    array_reader,
    bytes_reader,
    read_count,
    read_tags,
    read_varint,
    skip_tags,
    string_reader,
)


@pytest.mark.parametrize(
    ("data", "value"), [("00", 0), ("7f", 127), ("8001", 128), ("ac02", 300), ("ffffffff0f", 2**32 - 1)]
)
def test_a_varint_has_seven_bits_a_byte(data: str, value: int) -> None:
    raw = bytes.fromhex(data)
    assert read_varint(raw + b"rest", 0) == (value, len(raw))


@pytest.mark.parametrize("data", ["ffffffff10", "808080808001"])
def test_a_varint_of_more_than_32_bits_is_refused(data: str) -> None:
    with pytest.raises(DecodeError, match="longer than 32 bits"):
        read_varint(bytes.fromhex(data), 0)


@pytest.mark.parametrize(("compact", "null", "text"), [(False, "ffff", "0002c3a9"), (True, "00", "03c3a9")])
def test_a_string_has_its_length_in_bytes_before_it(compact: bool, null: str, text: str) -> None:
    read = string_reader(compact, True)
    assert read(bytes.fromhex(null), 0)[0] is None
    assert read(bytes.fromhex(text) + b"rest", 0) == ("é", len(text) // 2)


def test_a_string_longer_than_kafka_allows_is_refused() -> None:
    with pytest.raises(DecodeError, match="a string of 32768 bytes"):
        string_reader(True, False)(bytes.fromhex("818002") + bytes(40000), 0)


def test_bytes_may_be_longer_than_strings() -> None:
    assert bytes_reader(False, True)(b"\x00\x00\x80\x00" + bytes(0x8000), 0) == (bytes(0x8000), 0x8004)
    assert bytes_reader(True, True)(b"\x00", 0) == (None, 1)
    with pytest.raises(DecodeError, match="length -1"):
        bytes_reader(True, False)(b"\x00", 0)


def test_a_count_is_checked_against_the_remaining_bytes() -> None:
    assert read_count(b"\x03" + bytes(8), 0, compact=True, nullable=False, min_size=4) == (2, 1)
    with pytest.raises(DecodeError, match="3 elements where 8 bytes are left"):
        read_count(b"\x04" + bytes(8), 0, compact=True, nullable=False, min_size=4)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 126, 127, 200])
@pytest.mark.parametrize("compact", [False, True])
def test_arrays_of_numbers_of_every_length(count: int, compact: bool) -> None:
    length = count.to_bytes(4, "big")
    if compact:
        length = bytes([count + 1]) if count < 127 else bytes([(count + 1) & 0x7F | 0x80, (count + 1) >> 7])
    data = length + b"".join(number.to_bytes(4, "big") for number in range(count))
    assert array_reader("int32", compact, False)(data, 0) == (tuple(range(count)), len(data))


def test_arrays_of_uuids_and_strings() -> None:
    uuids = bytes(range(16)), bytes(16)
    assert array_reader("uuid", True, False)(b"\x03" + b"".join(uuids), 0) == (uuids, 33)
    assert array_reader("string", True, False)(b"\x03\x02a\x01", 0) == (("a", ""), 4)
    assert array_reader("string", False, True)(b"\xff\xff\xff\xff", 0) == (None, 4)
    assert array_reader("int32", True, True)(b"\x00", 0) == (None, 1)


def test_tags_are_read_or_skipped() -> None:
    data = bytes.fromhex("02 01 02 abcd 904e 00")
    assert read_tags(data, 0) == ({1: b"\xab\xcd", 10000: b""}, len(data))
    assert skip_tags(data, 0) == len(data)
    with pytest.raises(DecodeError, match="length 3 where 2 bytes are left"):
        skip_tags(bytes.fromhex("01 01 03 abcd"), 0)
