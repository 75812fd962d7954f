"""Decode JSON that anybody may have written, such as a record of a topic or the first bytes of a connection."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


def decode_foreign(text: bytes | str, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value. Raises msgspec.DecodeError, also for lists and objects that are nested too deeply."""
    try:
        return decoder.decode(text)
    except RecursionError:
        raise msgspec.DecodeError("lists or objects are nested too deeply") from None
