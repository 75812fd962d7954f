"""One connection to a broker or controller: a request, its response, then the next."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from protocol.connection import ClientConnection
from protocol.errors import DecodeError
from protocol.frames import ResponseFrame, decode_response

READ_BYTES = 256 * 1024


class Channel(Protocol):
    """Carries messages of `protocol.messages`, one at a time."""

    async def request(self, message: tuple[Any, ...], version: int) -> Any:
        """The response. Errors: OSError when the connection is lost or the peer does not answer in time."""
        ...

    def close(self) -> None:
        """Let go of the connection; a request in flight fails."""
        ...


Connect = Callable[[str, int], Awaitable[Channel]]
"""Opens a channel to a host and port. Errors: OSError."""


class TcpChannel:
    """A channel over TCP; see `connect`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_seconds: float
    ) -> None:
        self._reader, self._writer, self._timeout = reader, writer, timeout_seconds
        self._connection = ClientConnection()

    async def request(self, message: tuple[Any, ...], version: int) -> Any:
        """See `Channel.request`; the channel is of no use after an error."""
        try:
            async with asyncio.timeout(self._timeout):
                self._writer.write(self._connection.send_request(message, version))
                await self._writer.drain()
                return decode_response(await self._response())
        except DecodeError as error:
            raise OSError(f"an answer that makes no sense ({error})") from error

    async def _response(self) -> ResponseFrame:
        while True:
            data = await self._reader.read(READ_BYTES)
            if not data:
                raise ConnectionResetError("the peer closed the connection")
            frames = self._connection.receive_data(data)
            if self._connection.error is not None:
                raise self._connection.error
            if frames:
                return frames[0]

    def close(self) -> None:
        """See `Channel.close`."""
        self._writer.close()


async def connect(host: str, port: int, timeout_seconds: float = 30.0) -> TcpChannel:
    """A channel to that address; the time holds for connecting and for each request (TimeoutError is an OSError)."""
    async with asyncio.timeout(timeout_seconds):
        reader, writer = await asyncio.open_connection(host, port)
    return TcpChannel(reader, writer, timeout_seconds)


ASK_SECONDS = 2.0


async def ask_once(
    connect: Connect,
    host: str,
    port: int,
    message: tuple[Any, ...],
    version: int,
    seconds: float = ASK_SECONDS,
) -> Any:
    """The response to one request, over a connection of its own; `seconds` hold for the connection, and again for the response."""
    async with asyncio.timeout(seconds):
        channel = await connect(host, port)
    try:
        async with asyncio.timeout(seconds):
            return await channel.request(message, version)
    finally:
        channel.close()
