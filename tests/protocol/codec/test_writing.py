"""Primitive types, to bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec.errors import EncodeError
from protocol.codec.reading import array_reader, bytes_reader, read_varint, string_reader
from protocol.codec.writing import array_writer, bytes_writer, string_writer, varint


@given(value=st.integers(0, 2**32 - 1))
def test_a_varint_can_be_read_back(value: int) -> None:
    assert read_varint(varint(value), 0) == (value, len(varint(value)))


@given(value=st.none() | st.text(), compact=st.booleans())
def test_a_string_can_be_read_back(value: str | None, compact: bool) -> None:
    assert string_reader(compact, True)(string_writer(compact, True)(value), 0)[0] == value


@given(value=st.none() | st.binary(), compact=st.booleans())
def test_bytes_can_be_read_back(value: bytes | None, compact: bool) -> None:
    assert bytes_reader(compact, True)(bytes_writer(compact, True)(value), 0)[0] == value


@given(value=st.none() | st.lists(st.integers(-128, 127), max_size=300), compact=st.booleans())
def test_an_array_can_be_read_back(value: list[int] | None, compact: bool) -> None:
    read = array_reader("int8", compact, True)(array_writer("int8", compact, True)(value), 0)[0]
    assert read == (None if value is None else tuple(value))


def test_arrays_of_strings_and_uuids() -> None:
    assert array_writer("string", True, False)(["a", ""]) == b"\x03\x02a\x01"
    assert array_writer("uuid", True, False)([bytes(16)]) == b"\x02" + bytes(16)
    assert array_writer("string", False, True)(None) == b"\xff\xff\xff\xff"


@pytest.mark.parametrize("write", [string_writer(True, False), bytes_writer(True, False)])
def test_null_is_refused_in_a_field_that_is_not_nullable(write: "object") -> None:
    assert callable(write)
    with pytest.raises(EncodeError, match="null"):
        write(None)


@pytest.mark.parametrize("element", ["int32", "string", "uuid"])
def test_a_null_array_is_refused_where_there_is_none(element: str) -> None:
    with pytest.raises(EncodeError, match="null"):
        array_writer(element, True, False)(None)
