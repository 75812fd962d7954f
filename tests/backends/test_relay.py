import asyncio
from collections.abc import AsyncIterator
from struct import pack, unpack

import pytest

from backends.relay import Relay


class Echo:
    """A server that sends each frame back, counts its connections, and closes one that it is asked to."""

    def __init__(self) -> None:
        self.connections = 0
        self.address = ("127.0.0.1", 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                (size,) = unpack(">i", await reader.readexactly(4))
                payload = await reader.readexactly(size)
                if payload == b"close":
                    break
                writer.write(pack(">i", size) + payload)
                if payload == b"die":
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, *echo.address)
    echo.address = server.sockets[0].getsockname()
    yield echo
    server.close()


async def test_an_answer_comes_back_as_it_is(echo: Echo) -> None:
    relay = Relay(lambda: echo.address)
    payload = bytes(range(256)) * 9_000
    assert await relay.forward(payload) == payload
    assert await relay.forward(b"again") == b"again"
    assert echo.connections == 1
    relay.close()


async def test_requests_at_one_time_have_connections_of_their_own(echo: Echo) -> None:
    relay = Relay(lambda: echo.address)
    assert list(await asyncio.gather(relay.forward(b"a"), relay.forward(b"b"))) == [b"a", b"b"]
    assert echo.connections == 2
    relay.close()


async def test_an_idle_connection_that_has_died_is_replaced(echo: Echo) -> None:
    relay = Relay(lambda: echo.address)
    await relay.forward(b"die")
    await asyncio.sleep(0.05)
    assert await relay.forward(b"a") == b"a"
    assert echo.connections == 2
    relay.close()


async def test_a_connection_that_breaks_is_an_error_and_not_used_again(echo: Echo) -> None:
    relay = Relay(lambda: echo.address)
    with pytest.raises(OSError, match="closed the connection"):
        await relay.forward(b"close")
    assert await relay.forward(b"a") == b"a"
    relay.close()
