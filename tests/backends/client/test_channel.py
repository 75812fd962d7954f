import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from backends.client.channel import BrokerChannel, connect, connector
from backends.client.handshake import ClientSettings
from backends.client.security import Credentials, Security
from common.clock import settle
from protocol.frames import Connection, encode_response
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from tests.backends.client.fake import HANG_UP, FakeBroker, broker

LIST = ListPartitionReassignmentsRequest()
CALLER = ClientSettings(security=Security(sasl=Credentials("PLAIN", "us", "secret")))


def asks_for_sasl(fake: FakeBroker, error: int = 0) -> None:
    """Let the broker require SASL. It accepts any credentials, or refuses them with `error`."""
    fake.answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse(0, ("PLAIN",))
    fake.answers[SaslAuthenticateRequest] = lambda _: SaslAuthenticateResponse(error, None)


async def test_plaintext_connections_skip_the_handshake() -> None:
    assert connector(ClientSettings()) is connect


async def test_a_channel_authenticates_and_then_carries_requests() -> None:
    async with broker() as fake:
        asks_for_sasl(fake)
        channel = await connector(CALLER)(*fake.address)
        assert await channel.request(LIST, 0) == ListPartitionReassignmentsResponse()
        channel.close()


async def test_a_connection_that_is_lost_is_an_os_error() -> None:
    async with broker() as fake:
        asks_for_sasl(fake)
        channel = await connector(CALLER)(*fake.address)
        fake.answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
        with pytest.raises(OSError, match="closed the connection"):
            await channel.request(LIST, 0)


async def test_refused_credentials_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with broker() as fake:
        asks_for_sasl(fake, error=58)
        opens = connector(CALLER)
        for _ in range(3):
            with pytest.raises(OSError, match="refused us by PLAIN"):
                await opens(*fake.address)
    assert len(caplog.messages) == 1
    assert "secret" not in caplog.text


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served_by(serve: Serve) -> AsyncIterator[BrokerChannel]:
    """Return a channel to a server that handles each connection with `serve`."""
    ended = asyncio.Event()

    async def and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()
        ended.set()

    async with await asyncio.start_server(and_close, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        channel = await connect(host, port)
        assert isinstance(channel, BrokerChannel)
        try:
            yield channel
        finally:
            channel.close()
            await ended.wait()
            await settle()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request with the controller epoch in it, a few bytes at a time."""
    connection = Connection()
    while data := await reader.read(1000):
        for number, frame in enumerate(connection.receive_data(data)):
            response = connection.send_encoded(
                frame, encode_response(frame, UpdateMetadataResponse(number + len(frame.body)))
            )
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


async def test_an_answer_outside_of_the_kafka_protocol_is_an_os_error() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff" * 100)
        await writer.drain()

    async with served_by(babble) as channel:
        with pytest.raises(OSError, match="does not speak Kafka's protocol"):
            await channel.request(UpdateMetadataRequest(), 6)


async def test_no_answer_in_time_is_an_os_error() -> None:
    async def listen_only(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with served_by(listen_only) as channel:
        channel._timeout = 0.01
        with pytest.raises(OSError, match=r"did not answer UpdateMetadata within 0\.01 s"):
            await channel.request(UpdateMetadataRequest(), 6)


async def test_a_refused_connection_is_an_os_error() -> None:
    async with served_by(answer):
        pass
    with pytest.raises(OSError, match="Connect"):
        await connect("127.0.0.1", 1)
