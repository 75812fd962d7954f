import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from backends.broker_commands.channel import TcpChannel, connect
from common.clock import settle
from protocol.connection import Connection
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served_by(serve: Serve, timeout_seconds: float = 5.0) -> AsyncIterator[TcpChannel]:
    """A channel to a server that treats each connection so."""
    ended = asyncio.Event()

    async def and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()
        ended.set()

    async with await asyncio.start_server(and_close, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        channel = await connect(host, port, timeout_seconds)
        try:
            yield channel
        finally:
            channel.close()
            await ended.wait()
            await settle()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request by its own controller epoch, a few bytes at a time."""
    connection = Connection()
    while data := await reader.read(1000):
        for number, frame in enumerate(connection.receive_data(data)):
            response = connection.send_response(frame, UpdateMetadataResponse(number + len(frame.body)))
            for byte in response:
                writer.write(bytes([byte]))
                await settle(5)


async def test_requests_are_answered_one_after_the_other() -> None:
    async with served_by(answer) as channel:
        request = UpdateMetadataRequest()
        first = await channel.request(request, 6)
        assert first == await channel.request(request, 6)
        assert isinstance(first, UpdateMetadataResponse)


async def test_a_connection_that_is_closed_is_an_os_error() -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(1)

    async with served_by(hang_up) as channel:
        with pytest.raises(OSError, match=r"closed|reset"):
            await channel.request(UpdateMetadataRequest(), 6)


async def test_an_answer_that_makes_no_sense_is_an_os_error() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff" * 100)
        await writer.drain()

    async with served_by(babble) as channel:
        with pytest.raises(OSError, match="makes no sense"):
            await channel.request(UpdateMetadataRequest(), 6)


async def test_no_answer_in_time_is_an_os_error() -> None:
    async def listen_only(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with served_by(listen_only, timeout_seconds=0.01) as channel:
        with pytest.raises(TimeoutError):
            await channel.request(UpdateMetadataRequest(), 6)


async def test_nobody_there_is_an_os_error() -> None:
    async with served_by(answer):
        pass
    with pytest.raises(OSError, match="Connect"):
        await connect("127.0.0.1", 1)
