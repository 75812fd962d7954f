"""Sealed frames: size, HMAC, and up to CHUNK bytes of a message.

Messages are sent in chunks, so that small ones need not wait for a large one and the event loop serves others in
between. The HMAC is over the number of the frame too: a frame cannot be changed, left out or repeated.
"""

import hmac
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from protocol.errors import DecodeError

CHUNK = 256 * 1024
"""Bytes of a message in one frame. Their HMAC takes less than a millisecond."""

MAC_BYTES = 32
SIZE = Struct(">I")
_HEAD = Struct(">BBI")
_NUMBER = Struct(">Q")

LARGEST_FRAME = MAC_BYTES + _HEAD.size + CHUNK
SMALLEST_FRAME = MAC_BYTES + _HEAD.size


class Message(NamedTuple):
    """A complete message. `kind` is one of `server.peers.messages.Kind`."""

    kind: int
    id: int
    data: bytes


class Sealer:
    """Makes frames from messages."""

    def __init__(self, key: bytes) -> None:
        self._key, self._count = key, 0

    def frames(self, message: Message) -> Iterator[bytes]:
        """Yield the frames of the message. Frames of several messages may alternate."""
        kind, number, data = message
        view = memoryview(data)
        for start in range(0, max(len(data), 1), CHUNK):
            chunk = view[start : start + CHUNK]
            last = start + CHUNK >= len(data)
            yield self._sealed(_HEAD.pack(kind, last, number) + chunk)

    def _sealed(self, body: bytes) -> bytes:
        mac = hmac.digest(self._key, _NUMBER.pack(self._count) + body, "sha256")
        self._count += 1
        return SIZE.pack(MAC_BYTES + len(body)) + mac + body


class Opener:
    """Makes messages from frames. `largest` is the most bytes of incomplete messages together."""

    def __init__(self, key: bytes, largest: int) -> None:
        self._key, self._largest = key, largest
        self._count = 0
        self._incomplete: dict[tuple[int, int], bytearray] = {}
        self.held = 0
        """Bytes of incomplete messages."""

    def open(self, frame: bytes) -> Message | None:
        """Return the message that the frame, without its size, completes. Raises DecodeError."""
        body = memoryview(frame)[MAC_BYTES:]
        mac = hmac.digest(self._key, _NUMBER.pack(self._count) + body, "sha256")
        if len(body) < _HEAD.size or not hmac.compare_digest(mac, frame[:MAC_BYTES]):
            raise DecodeError("a frame that was not sealed by the peer")
        self._count += 1
        kind, last, number = _HEAD.unpack_from(body)
        chunk = body[_HEAD.size :]
        if last and (kind, number) not in self._incomplete:
            return Message(kind, number, bytes(chunk))
        self.held += len(chunk)
        if self.held > self._largest:
            raise DecodeError(f"messages of more than {self._largest} bytes")
        parts = self._incomplete.setdefault((kind, number), bytearray())
        parts += chunk
        if not last:
            return None
        del self._incomplete[kind, number]
        self.held -= len(parts)
        return Message(kind, number, bytes(parts))
