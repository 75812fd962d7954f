"""Primitive types, from bytes.

A reader takes (data, pos) and returns (value, next pos). `IndexError` and `struct.error` are left to rise
where bytes run out: `protocol.codec.wire` makes one `DecodeError` of them. Slices of bytes do not raise, so
lengths are compared with what is left first, and counts are too, before anything of that size is made.
"""

from collections.abc import Callable
from functools import cache, partial
from struct import Struct, unpack_from
from typing import Any

from protocol.codec.errors import DecodeError
from protocol.codec.schema import FIXED_FORMATS, FIXED_SIZES, array_format

MAX_STRING = 0x7FFF

SHORT_ARRAY = 16
"""Arrays of fewer numbers have a format prepared in advance; their compact length is one byte."""

unpack_short = Struct(">h").unpack_from
unpack_long = Struct(">i").unpack_from

Reader = Callable[[bytes, int], tuple[Any, int]]
"""Returns a value of one wire type and its end. Which type that is follows from the schema, at runtime only.
"""


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits."""
    value = data[pos]
    pos += 1
    if value < 0x80:
        return value, pos
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, pos
    raise DecodeError("a varint is longer than 32 bits")


def read_compact_length(data: bytes, pos: int) -> tuple[int, int]:
    """Read the length of a compact type: -1 is null."""
    length, pos = read_varint(data, pos)
    return length - 1, pos


def read_short_length(data: bytes, pos: int) -> tuple[int, int]:
    """Read the length of an old string."""
    return unpack_short(data, pos)[0], pos + 2


def read_long_length(data: bytes, pos: int) -> tuple[int, int]:
    """Read the length of old bytes or of an old array."""
    return unpack_long(data, pos)[0], pos + 4


def check_room(length: int, data: bytes, pos: int) -> int:
    """Return the end of `length` bytes from `pos`. Raises DecodeError if there are fewer."""
    end = pos + length
    if length < 0 or end > len(data):
        raise DecodeError(f"length {length} where {len(data) - pos} bytes are left")
    return end


def read_count(data: bytes, pos: int, compact: bool, nullable: bool, min_size: int) -> tuple[int, int]:
    """Read the number of elements of an array, each of which takes `min_size` bytes or more. -1 is null."""
    count, pos = read_compact_length(data, pos) if compact else read_long_length(data, pos)
    if count * min_size > len(data) - pos:
        raise DecodeError(f"{count} elements where {len(data) - pos} bytes are left")
    if count < 0 and not (nullable and count == -1):
        raise DecodeError("null where the version has no null" if count == -1 else f"{count} elements")
    return count, pos


@cache
def count_reader(compact: bool, nullable: bool, min_size: int) -> Callable[[bytes, int], tuple[int, int]]:
    """Return the reader of the number of elements of an array."""
    return partial(read_count, compact=compact, nullable=nullable, min_size=min_size)


@cache
def string_reader(compact: bool, nullable: bool) -> Reader:
    """Return the reader of a string."""
    read_length = read_compact_length if compact else read_short_length
    prefix = 1 if compact else 2

    def read_string(data: bytes, pos: int) -> tuple[str | None, int]:
        length = data[pos] - 1 if compact else unpack_short(data, pos)[0]
        start = pos + prefix
        if 0 <= length < 0x7F and start + length <= len(data):  # almost all strings
            return data[start : start + length].decode(), start + length
        length, pos = read_length(data, pos)
        if length == -1 and nullable:
            return None, pos
        if length > MAX_STRING:
            raise DecodeError(f"a string of {length} bytes")
        end = check_room(length, data, pos)
        return data[pos:end].decode(), end

    return read_string


@cache
def bytes_reader(compact: bool, nullable: bool) -> Reader:
    """Return the reader of a byte string."""
    read_length = read_compact_length if compact else read_long_length

    def read_bytes(data: bytes, pos: int) -> tuple[bytes | None, int]:
        length, pos = read_length(data, pos)
        if length == -1 and nullable:
            return None, pos
        end = check_room(length, data, pos)
        return data[pos:end], end

    return read_bytes


@cache
def short_arrays(element: str) -> list[Callable[[bytes, int], tuple[Any, ...]]]:
    """Return the functions that unpack an array of a fixed type, by compact length (0, null, is not used)."""
    return [
        Struct(array_format(element, max(length - 1, 0))).unpack_from for length in range(SHORT_ARRAY + 1)
    ]


@cache
def array_reader(element: str, compact: bool, nullable: bool) -> Reader:
    """Return the reader of an array of `element`, a fixed type, strings or bytes."""
    if element not in FIXED_FORMATS:
        return _variable_array_reader(scalar_reader(element, compact, False), compact, nullable)
    size = FIXED_SIZES[element]

    def read_array(data: bytes, pos: int) -> tuple[tuple[Any, ...] | None, int]:
        count, pos = read_count(data, pos, compact, nullable, size)
        if count < 0:
            return None, pos
        return unpack_from(array_format(element, count), data, pos), pos + count * size

    return read_array


def _variable_array_reader(read: Reader, compact: bool, nullable: bool) -> Reader:
    def read_array(data: bytes, pos: int) -> tuple[tuple[Any, ...] | None, int]:
        count, pos = read_count(data, pos, compact, nullable, 1)
        if count < 0:
            return None, pos
        values = []
        for _ in range(count):
            value, pos = read(data, pos)
            values.append(value)
        return tuple(values), pos

    return read_array


def scalar_reader(kind: str, compact: bool, nullable: bool) -> Reader:
    """Return the reader of a string or of bytes."""
    return string_reader(compact, nullable) if kind == "string" else bytes_reader(compact, nullable)


def read_tags(data: bytes, pos: int) -> tuple[dict[int, bytes], int]:
    """Read a section of tagged fields: tag -> bytes."""
    count, pos = read_varint(data, pos)
    tags = {}
    for _ in range(count):
        tag, pos = read_varint(data, pos)
        length, pos = read_varint(data, pos)
        end = check_room(length, data, pos)
        tags[tag] = data[pos:end]
        pos = end
    return tags, pos


def skip_tags(data: bytes, pos: int) -> int:
    """Return the end of a section of unknown tagged fields."""
    count, pos = read_varint(data, pos)
    for _ in range(count):
        _, pos = read_varint(data, pos)
        length, pos = read_varint(data, pos)
        pos = check_room(length, data, pos)
    return pos
