"""A connection of two peers, with and without TLS."""

import asyncio
import ssl
from pathlib import Path

import pytest

from common.address import Address
from common.tls import pinned_client_context, server_context
from protocol.errors import DecodeError
from server.peers.handshake import PeerRefusedError
from server.peers.sealing import LARGEST_FRAME, SIZE, Message
from server.peers.stream import PeerSecurity, PeerStream, accept, connect
from tests.server.peers.sockets import Echo, linked, listening, security
from tests.server.peers.test_links import request

CERTIFICATE = Path(__file__).parents[2] / "reassignd" / "tls" / "server.pem"


class Accepted:
    """A server that accepts one peer."""

    def __init__(self) -> None:
        self.stream: asyncio.Future[PeerStream] = asyncio.get_running_loop().create_future()
        self.writer: asyncio.StreamWriter

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.stream.set_result(await accept(reader, writer, security("active"), 1000))


async def pair() -> tuple[PeerStream, PeerStream, asyncio.StreamWriter, asyncio.Server]:
    accepted = Accepted()
    server = await asyncio.start_server(accepted.serve, "127.0.0.1")
    address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
    one = await connect(address, security("standby"), 1000)
    return one, await accepted.stream, accepted.writer, server


async def test_both_sides_know_each_other_and_exchange_messages() -> None:
    one, other, _, server = await pair()
    assert (one.peer.instance, other.peer.instance) == ("active", "standby")
    for sender, receiver in ((one, other), (other, one)):
        await sender.send(Message(1, 7, b"data"))
        assert await receiver.receive() == Message(1, 7, b"data")
    one.close()
    with pytest.raises(ConnectionResetError):
        await other.receive()
    other.close()
    server.close()


@pytest.mark.parametrize("size", [0, LARGEST_FRAME + 1])
async def test_a_frame_of_another_size_is_refused(size: int) -> None:
    one, other, writer, server = await pair()
    writer.write(SIZE.pack(size))
    with pytest.raises(DecodeError, match=f"a frame of {size} bytes"):
        await one.receive()
    one.close()
    other.close()
    server.close()


async def test_a_server_that_is_no_peer_is_named() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1") as server:
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        with pytest.raises(PeerRefusedError, match="not the handshake of a peer"):
            await connect(address, security("standby"), 1000)


def with_tls(by: PeerSecurity, client: ssl.SSLContext) -> PeerSecurity:
    return by._replace(server_tls=server_context(CERTIFICATE, None), client_tls=lambda: client)


async def test_all_instances_may_share_one_pinned_certificate() -> None:
    pinned = pinned_client_context(CERTIFICATE)
    async with (
        listening(Echo(), with_tls(security("active"), pinned)) as active,
        linked(with_tls(security("standby"), pinned)) as links,
    ):
        assert await links.forward(active, request()) == b"answer to body"


async def test_a_peer_with_another_certificate_gets_no_request() -> None:
    strangers, echo = ssl.create_default_context(), Echo()
    async with (
        listening(echo, with_tls(security("active"), strangers)) as active,
        linked(with_tls(security("standby"), strangers)) as links,
    ):
        with pytest.raises(OSError, match="certificate verify failed"):
            await links.forward(active, request())
    assert echo.asked == []
