"""A connection of two instances: the handshake on it, and after it messages in sealed frames.

A frame has its size, an HMAC, and up to CHUNK bytes of a message. Messages are sent in chunks, so that small
ones need not wait for a large one and the event loop serves others in between. The HMAC is over the number of
the frame too: a frame cannot be changed, left out or repeated.
"""

import asyncio
import hmac
import secrets
from collections.abc import Callable, Iterator
from ssl import SSLContext
from struct import Struct
from typing import NamedTuple

from common.address import Address
from protocol.codec.errors import DecodeError
from server.instances.handshake import (
    NONCE_BYTES,
    Accepting,
    Connecting,
    InstanceIdentity,
    InstanceRefusedError,
    Session,
    refusal,
)

CHUNK = 256 * 1024
"""Bytes of a message in one frame. Their HMAC takes less than a millisecond."""


MAC_BYTES = 32


SIZE = Struct(">I")


_HEAD = Struct(">BBI")


_NUMBER = Struct(">Q")


LARGEST_FRAME = MAC_BYTES + _HEAD.size + CHUNK


SMALLEST_FRAME = MAC_BYTES + _HEAD.size


class Message(NamedTuple):
    """A complete message. `kind` is one of `server.instances.messages.Kind`."""

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


LARGEST_GREETING = 4096
"""Bytes of a message of the handshake."""


HANDSHAKE_SECONDS = 5.0
"""Time for connecting and the handshake, TLS included."""


READ_AHEAD = 2 * LARGEST_FRAME


ClientTls = Callable[[], SSLContext]
"""Returns the context for a connection that is opened now."""


class InstanceSecurity(NamedTuple):
    """What an instance needs to prove itself, and to check the others.

    The secret is always needed. TLS adds secrecy: without it others on the network can read forwarded
    requests, but not change them.
    """

    identity: Callable[[], InstanceIdentity]
    """The instance, and its cluster as soon as it is known."""
    secret: bytes
    server_tls: SSLContext | None = None
    client_tls: ClientTls | None = None
    random: Callable[[int], bytes] = secrets.token_bytes


class InstanceStream:
    """Messages between two instances.

    `largest` is the most bytes of incomplete messages that are received.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: Session, largest: int
    ) -> None:
        self._reader, self._writer = reader, writer
        self._sealer, self._opener = Sealer(session.sends), Opener(session.receives, largest)
        self.peer = session.peer

    async def send(self, message: Message) -> None:
        """Send the message; others may be sent at the same time. Raises OSError."""
        for frame in self._sealer.frames(message):
            if self._writer.is_closing():
                raise ConnectionResetError
            self._writer.write(frame)
            await self._writer.drain()
            if len(frame) >= LARGEST_FRAME:
                await asyncio.sleep(0)

    async def receive(self, silence: float | None = None) -> Message:
        """Return the next message.

        Raises OSError at the end of the connection, DecodeError for anything else.

        Raises TimeoutError, which is an OSError, after `silence` seconds without a frame of a message.
        """
        while True:
            async with asyncio.timeout(silence):
                frame = await _read(self._reader, SMALLEST_FRAME, LARGEST_FRAME)
            message = self._opener.open(frame)
            if message is not None:
                return message

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()


async def connect(address: Address, security: InstanceSecurity, largest: int) -> InstanceStream:
    """Connect to a peer. Raises OSError and InstanceRefusedError."""
    async with asyncio.timeout(HANDSHAKE_SECONDS):
        tls = None if security.client_tls is None else security.client_tls()
        reader, writer = await asyncio.open_connection(*address, ssl=tls, limit=READ_AHEAD)
        try:
            greeting = Connecting(security.identity(), security.secret, security.random(NONCE_BYTES))
            _write(writer, greeting.hello)
            _write(writer, greeting.prove(await _greeting(reader)))
            session = greeting.finish(await _greeting(reader))
        except BaseException as error:
            _leave(writer, error)
            raise
    return InstanceStream(reader, writer, session, largest)


async def accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, security: InstanceSecurity, largest: int
) -> InstanceStream:
    """Shake hands on an accepted connection.

    Raises OSError and InstanceRefusedError; the connection is closed then.
    """
    try:
        greeting = Accepting(security.identity(), security.secret, security.random(NONCE_BYTES))
        _write(writer, greeting.answer(await _greeting(reader)))
        proof, session = greeting.finish(await _greeting(reader))
        _write(writer, proof)
    except BaseException as error:
        _leave(writer, error)
        raise
    return InstanceStream(reader, writer, session, largest)


def _leave(writer: asyncio.StreamWriter, error: BaseException) -> None:
    """Tell the peer why it is refused, if it is, and close the connection."""
    if isinstance(error, InstanceRefusedError):
        _write(writer, refusal(str(error)))
    writer.close()


async def _greeting(reader: asyncio.StreamReader) -> bytes:
    try:
        return await _read(reader, 1, LARGEST_GREETING)
    except DecodeError as error:
        raise InstanceRefusedError(f"what it sent is not the handshake of a peer: {error}") from None


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(SIZE.pack(len(data)) + data)


async def _read(reader: asyncio.StreamReader, smallest: int, largest: int) -> bytes:
    try:
        (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
        if not smallest <= size <= largest:
            raise DecodeError(f"a frame of {size} bytes, where {smallest} to {largest} are allowed")
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ConnectionResetError("the peer has closed the connection") from None
