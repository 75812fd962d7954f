"""Encode and decode messages: `codec(MessageClass, version)`.

The functions behind a codec are compiled from the message's schema when they are first used, and kept.
Messages are `NamedTuple` classes of `protocol.messages`, one class for all versions. Arrays are tuples when
they were decoded; any sequence can be encoded. A decoded message with 100,000 rows has 300,000 objects, so
callers should disable the garbage collector while they decode large messages
(`common.garbage_collector.gc_paused`).
"""

import struct
import sys
from functools import cache, cached_property
from typing import Generic, Protocol, TypeVar, cast

from protocol.codec.decoder import DecoderWriter
from protocol.codec.encoder import EncoderWriter
from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.run_reader import ReadRows
from protocol.codec.run_writer import WriteRows
from protocol.codec.schema import Message, version_range

T = TypeVar("T")


class Codec(Generic[T]):
    """Encodes and decodes a message class in one version."""

    def __init__(self, message: Message, version: int) -> None:
        self._message = message
        self._version = version
        self._title = f"{message.root.__name__} v{version}"

    def encode(self, message: T) -> bytes:
        """Return the bytes of `message`; `EncodeError` if this version cannot carry it."""
        pieces: list[bytes] = []
        try:
            self._write((message,), pieces.append)
            return b"".join(pieces)
        except (struct.error, TypeError, ValueError, AttributeError, EncodeError) as error:
            raise EncodeError(f"{self._title}: {error}") from error

    def decode(self, data: bytes | memoryview) -> T:
        """Return the message at the start of `data`; bytes after it are ignored, as Kafka does."""
        return self.decode_prefix(data if isinstance(data, bytes) else bytes(data))[0]

    def decode_prefix(self, data: bytes) -> tuple[T, int]:
        """Return the message at the start of `data` and its end position."""
        try:
            (message,), end = self._read(data, 0, 1)
            return message, end
        except (struct.error, IndexError) as error:
            raise DecodeError(f"{self._title}: cut short") from error
        except (UnicodeDecodeError, DecodeError) as error:
            raise DecodeError(f"{self._title}: {error}") from error

    @cached_property
    def _write(self) -> WriteRows:
        return EncoderWriter(self._message, self._version).compile()

    @cached_property
    def _read(self) -> ReadRows:
        return DecoderWriter(self._message, self._version).compile()


class FindCodec(Protocol):
    """The type of `codec`."""

    def __call__(self, message_class: type[T], version: int, /) -> Codec[T]: ...


def schema_of(message_class: type) -> Message:
    """Return the schema beside a message class of `protocol.messages`."""
    schema: Message = sys.modules[message_class.__module__].SCHEMA
    return schema


def _make_codec(message_class: type[T], version: int) -> Codec[T]:
    schema = schema_of(message_class)
    if version not in version_range(schema.versions):
        raise DecodeError(f"{message_class.__name__} has versions {schema.versions}, not {version}")
    return Codec(schema, version)


# The type of a cached function has no type variables, so it is given here.
codec = cast(FindCodec, cache(_make_codec))
"""Returns the codec of a message class of `protocol.messages`; `DecodeError` for an unknown version."""
