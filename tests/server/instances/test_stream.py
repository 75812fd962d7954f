"""A connection of two instances, with and without TLS."""

import asyncio
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.address import Address
from common.tls import pinned_client_context, server_context
from protocol.codec.errors import DecodeError
from server.instances.handshake import InstanceRefusedError
from server.instances.stream import (
    CHUNK,
    LARGEST_FRAME,
    SIZE,
    InstanceSecurity,
    InstanceStream,
    Message,
    Opener,
    Sealer,
    accept,
    connect,
)
from tests.server.instances.sockets import Echo, linked, listening, security
from tests.server.instances.test_links import request

CERTIFICATE = Path(__file__).parents[2] / "reassignd" / "tls" / "server.pem"


class Accepted:
    """A server that accepts one peer."""

    def __init__(self) -> None:
        self.stream: asyncio.Future[InstanceStream] = asyncio.get_running_loop().create_future()
        self.writer: asyncio.StreamWriter

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.stream.set_result(await accept(reader, writer, security("active"), 1000))


async def pair() -> tuple[InstanceStream, InstanceStream, asyncio.StreamWriter, asyncio.Server]:
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
        with pytest.raises(InstanceRefusedError, match="not the handshake of a peer"):
            await connect(address, security("standby"), 1000)


def with_tls(by: InstanceSecurity, client: ssl.SSLContext) -> InstanceSecurity:
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


KEY = b"k" * 32
LARGEST = 10 * CHUNK


def frames(sealer: Sealer, message: Message) -> list[bytes]:
    return [frame[SIZE.size :] for frame in sealer.frames(message)]


def opened(opener: Opener, sealed: list[bytes]) -> list[Message]:
    return [message for frame in sealed if (message := opener.open(frame)) is not None]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2**32 - 1), st.binary(max_size=100))))
def test_messages_arrive_as_they_were_sent(sent: list[tuple[int, int, bytes]]) -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, LARGEST)
    messages = [Message(*each) for each in sent]
    assert [opened(opener, frames(sealer, each)) for each in messages] == [[each] for each in messages]


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_a_large_message_is_sent_in_chunks(size: int) -> None:
    message = Message(2, 7, bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    sealed = frames(Sealer(KEY), message)
    assert len(sealed) == -(-size // CHUNK)
    opener = Opener(KEY, LARGEST)
    assert opened(opener, sealed) == [message]
    assert opener.held == 0


def test_a_small_message_may_pass_between_the_chunks_of_a_large_one() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, LARGEST)
    large, small = Message(2, 1, b"x" * (2 * CHUNK)), Message(2, 2, b"y")
    chunks = sealer.frames(large)
    sealed = [next(chunks), *sealer.frames(small), next(chunks)]
    assert opened(opener, [frame[SIZE.size :] for frame in sealed]) == [small, large]


def test_a_frame_cannot_be_changed_repeated_left_out_or_reflected() -> None:
    first, second = (frames(Sealer(KEY), Message(1, n, b"data"))[0] for n in (1, 2))
    changed = first[:-1] + b"x"
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(KEY, LARGEST).open(changed)
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(b"another key", LARGEST).open(first)
    opener = Opener(KEY, LARGEST)
    opener.open(first)
    for wrong in (first, second):
        with pytest.raises(DecodeError, match="not sealed by the peer"):
            opener.open(wrong)


def test_a_frame_that_is_too_short_is_refused() -> None:
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(KEY, LARGEST).open(b"short")


def test_incomplete_messages_are_bounded_together() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, CHUNK)
    opener.open(next(sealer.frames(Message(1, 1, b"x" * 2 * CHUNK)))[SIZE.size :])
    with pytest.raises(DecodeError, match=f"messages of more than {CHUNK} bytes"):
        opener.open(next(sealer.frames(Message(1, 2, b"x" * 2 * CHUNK)))[SIZE.size :])
