"""Primitive types, to bytes. Each writer takes a value and returns its bytes, or raises `EncodeError`."""

from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct, pack
from typing import Any

from protocol.codec.errors import EncodeError
from protocol.codec.schema import FIXED_FORMATS, array_format

MAX_STRING = 0x7FFF

SHORT_ARRAY = 16
"""Arrays of fewer numbers have a format prepared in advance."""

ONE_BYTE = [bytes((value,)) for value in range(0x80)]

ONE_BYTE_LENGTHS = 0x7F
"""Compact lengths below this take one byte, which is the length plus 1."""

short_length = Struct(">h").pack
"""Returns the length of an old string."""

long_length = Struct(">i").pack
"""Returns the length of old bytes or of an old array."""

Writer = Callable[[Any], bytes]
"""Takes a value of one wire type. Which type that is follows from the schema, at runtime only."""


def varint(value: int) -> bytes:
    """Return `value`, 0 or more, as an unsigned varint."""
    if value < 0x80:
        return ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_length(length: int) -> bytes:
    """Return the length of a compact type; -1 is null."""
    return ONE_BYTE[length + 1] if length < ONE_BYTE_LENGTHS else varint(length + 1)


def refuse_null() -> bytes:
    """Raise the error for a null in a version that has none."""
    raise EncodeError("null where the version has no null")


def refuse_absent(field: str) -> None:
    """Raise the error for a value that the version would silently lose."""
    raise EncodeError(f"{field} has a value, and the version has no such field")


@cache
def string_writer(compact: bool, nullable: bool) -> Writer:
    """Return the writer of a string."""
    write_length = compact_length if compact else short_length

    def write_string(value: str | None) -> bytes:
        if value is None:
            return write_length(-1) if nullable else refuse_null()
        text = value.encode()
        if len(text) > MAX_STRING:
            raise EncodeError(f"a string of {len(text)} bytes")
        return write_length(len(text)) + text

    return write_string


@cache
def bytes_writer(compact: bool, nullable: bool) -> Writer:
    """Return the writer of a byte string."""
    write_length = compact_length if compact else long_length

    def write_bytes(value: bytes | None) -> bytes:
        if value is None:
            return write_length(-1) if nullable else refuse_null()
        return write_length(len(value)) + value

    return write_bytes


@cache
def array_writer(element: str, compact: bool, nullable: bool) -> Writer:
    """Return the writer of an array of `element`, a fixed type, strings or bytes."""
    write_length = compact_length if compact else long_length
    if element not in FIXED_FORMATS or element == "uuid":
        write_element = check_uuid if element == "uuid" else scalar_writer(element, compact, False)

        def write_array(values: Sequence[Any] | None) -> bytes:
            if values is None:
                return write_length(-1) if nullable else refuse_null()
            return write_length(len(values)) + b"".join(map(write_element, values))

        return write_array
    return _number_array_writer(element, compact, nullable)


def _number_array_writer(element: str, compact: bool, nullable: bool) -> Writer:
    write_length = compact_length if compact else long_length

    def write_array(values: Sequence[Any] | None) -> bytes:
        if values is None:
            return write_length(-1) if nullable else refuse_null()
        count = len(values)
        return write_length(count) + pack(array_format(element, count), *values)

    return write_array


@cache
def short_arrays(element: str, compact: bool) -> list[Callable[..., bytes]]:
    """Return the functions that pack an array of a fixed type, by its number of values.

    Each takes the length as on the wire, and the values.
    """
    code = "B" if compact else "i"
    return [Struct(f">{code}{array_format(element, count)[1:]}").pack for count in range(SHORT_ARRAY)]


def scalar_writer(kind: str, compact: bool, nullable: bool) -> Writer:
    """Return the writer of a string or of bytes."""
    return string_writer(compact, nullable) if kind == "string" else bytes_writer(compact, nullable)


def check_uuid(value: bytes) -> bytes:
    """Return `value`, which must be the 16 bytes of a UUID: `struct` would pad or cut it silently."""
    if len(value) != 16:
        raise EncodeError(f"a UUID of {len(value)} bytes")
    return value
