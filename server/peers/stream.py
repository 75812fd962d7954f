"""A connection of two peers: the handshake on it, and the messages after it."""

import asyncio
import secrets
from collections.abc import Callable
from ssl import SSLContext
from typing import NamedTuple

from common.address import Address
from protocol.errors import DecodeError
from server.peers.handshake import (
    NONCE_BYTES,
    Accepting,
    Connecting,
    Identity,
    PeerRefusedError,
    Session,
    refusal,
)
from server.peers.sealing import LARGEST_FRAME, SIZE, SMALLEST_FRAME, Message, Opener, Sealer

LARGEST_GREETING = 4096
"""Bytes of a message of the handshake."""

HANDSHAKE_SECONDS = 5.0
"""Time for connecting and the handshake, TLS included."""

READ_AHEAD = 2 * LARGEST_FRAME


ClientTls = Callable[[], SSLContext]
"""Returns the context for a connection that is opened now."""


class PeerSecurity(NamedTuple):
    """What an instance needs to prove itself, and to check its peers.

    The secret is always needed. TLS adds secrecy: without it others on the network can read forwarded requests, but
    not change them.
    """

    identity: Callable[[], Identity]
    """The instance, and its cluster as soon as it is known."""
    secret: bytes
    server_tls: SSLContext | None = None
    client_tls: ClientTls | None = None
    random: Callable[[int], bytes] = secrets.token_bytes


class PeerStream:
    """Messages between peers. `largest` is the most bytes of incomplete messages that are received."""

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
        """Return the next message. Raises OSError at the end of the connection, DecodeError for anything else.

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


async def connect(address: Address, security: PeerSecurity, largest: int) -> PeerStream:
    """Connect to a peer. Raises OSError and PeerRefusedError."""
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
    return PeerStream(reader, writer, session, largest)


async def accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, security: PeerSecurity, largest: int
) -> PeerStream:
    """Shake hands on an accepted connection. Raises OSError and PeerRefusedError; the connection is closed then."""
    try:
        greeting = Accepting(security.identity(), security.secret, security.random(NONCE_BYTES))
        _write(writer, greeting.answer(await _greeting(reader)))
        proof, session = greeting.finish(await _greeting(reader))
        _write(writer, proof)
    except BaseException as error:
        _leave(writer, error)
        raise
    return PeerStream(reader, writer, session, largest)


def _leave(writer: asyncio.StreamWriter, error: BaseException) -> None:
    """Tell the peer why it is refused, if it is, and close the connection."""
    if isinstance(error, PeerRefusedError):
        _write(writer, refusal(str(error)))
    writer.close()


async def _greeting(reader: asyncio.StreamReader) -> bytes:
    try:
        return await _read(reader, 1, LARGEST_GREETING)
    except DecodeError as error:
        raise PeerRefusedError(f"what it sent is not the handshake of a peer: {error}") from None


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
