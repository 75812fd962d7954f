"""Bytes and bells on socket pairs; `tests/zookeeper/test_client.py` has all of it before a real ZooKeeper."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.exceptions import AuthFailedError

from backends.zookeeper.session.handler import MUCH_BYTES, Bell, Handler, Mailbox, Stream


class Wire(NamedTuple):
    """A stream, and the server's end of it."""

    stream: Stream
    server: socket.socket


TLS = Path(__file__).parents[3] / "reassignd" / "tls"


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem")
    # They come before the first answer of a ZooKeeper, and would be something to read here.
    context.num_tickets = 0
    return context


def client_tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(TLS / "ca.pem"))


@pytest.fixture(params=["plain", "tls"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    server, client = socket.socketpair()
    if request.param == "tls":
        with ThreadPoolExecutor() as threads:
            served = threads.submit(server_tls().wrap_socket, server, server_side=True)
            client = client_tls().wrap_socket(client, server_hostname="localhost")
            server = served.result()
    client.setblocking(False)
    server.settimeout(10)
    with server, client:
        yield Wire(Stream(client), server)


@pytest.fixture
def bell() -> Iterator[Bell]:
    bell = Bell()
    yield bell
    bell.close()


def readable(*things: Stream | Bell, timeout: float = 10) -> list[Stream | Bell]:
    """What select says of them."""
    return Handler().select(things, [], [], timeout)[0]


def test_what_is_written_leaves_in_one_piece_before_a_wait(wire: Wire) -> None:
    assert (wire.stream.send(b"one"), wire.stream.send(b"two")) == (3, 3)
    assert readable(wire.stream, timeout=0) == []
    assert wire.server.recv(100) == b"onetwo"


def test_an_answer_is_read_in_parts_without_a_wait(wire: Wire) -> None:
    wire.server.sendall(b"0004data")
    assert readable(wire.stream) == [wire.stream]
    assert wire.stream.recv(4) == b"0004"
    assert readable(wire.stream) == [wire.stream]
    assert (wire.stream.recv(10), wire.stream.pending()) == (b"data", 0)
    assert readable(wire.stream, timeout=0) == []


def test_a_stream_can_always_be_written(wire: Wire) -> None:
    assert Handler().select([], [wire.stream], [], 10) == ([], [wire.stream], [])


def test_more_than_the_system_takes_is_sent_as_the_server_reads(wire: Wire) -> None:
    data = bytes(range(256)) * 20_000
    wire.stream.send(data)
    received = bytearray()

    def read() -> None:
        while len(received) < len(data):
            received.extend(wire.server.recv(100_000))

    reading = threading.Thread(target=read)
    reading.start()
    wire.stream.flush(10)
    reading.join()
    assert received == data


def test_a_server_that_takes_nothing_is_an_error(wire: Wire) -> None:
    wire.stream.send(bytes(5_000_000))
    with pytest.raises(TimeoutError, match="takes no more"):
        wire.stream.flush(0)


def test_a_bell_rings_as_often_as_it_was_rung(bell: Bell) -> None:
    for _ in range(3):
        bell.send(b"\0")
    for _ in range(3):
        assert readable(bell) == [bell]
        assert bell.recv(1) == b"\0"
    assert readable(bell, timeout=0) == []
    with pytest.raises(BlockingIOError):
        bell.recv(1)


def test_a_bell_wakes_who_waits(bell: Bell, wire: Wire) -> None:
    ringing = threading.Thread(target=bell.send, args=(b"\0",))
    ringing.start()
    assert readable(wire.stream, bell) == [bell]
    ringing.join()


def test_a_bell_that_keeps_ringing_hides_no_answer(bell: Bell, wire: Wire) -> None:
    bell.send(b"\0")
    wire.server.sendall(b"answer")
    assert readable(wire.stream, bell) == [bell]
    wire.stream.send(bytes(MUCH_BYTES))
    assert readable(wire.stream, bell) == [wire.stream, bell]
    assert wire.server.recv(1) == b"\0"


def test_a_closed_bell_is_an_error() -> None:
    bell = Bell()
    bell.close()
    with pytest.raises(OSError, match="descriptor"):
        bell.send(b"\0")


def test_a_result_is_told_of_where_it_is_set() -> None:
    result = Handler().async_result()
    told: list[int] = []
    result.rawlink(lambda _: told.append(threading.get_ident()))
    result.set("done")
    assert (told, result.get_nowait()) == ([threading.get_ident()], "done")


async def test_letters_are_read_in_order_on_the_loop() -> None:
    mailbox, done, read = Mailbox(asyncio.get_running_loop()), asyncio.Event(), list[int]()

    def write() -> None:
        for number in range(1_000):
            mailbox.put(partial(read.append, number))
        mailbox.put(done.set)

    await asyncio.to_thread(write)
    await done.wait()
    assert read == list(range(1_000))


async def test_a_letter_that_fails_holds_no_other_up() -> None:
    loop, failures, done = asyncio.get_running_loop(), list[object](), asyncio.Event()
    loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))
    mailbox = Mailbox(loop)
    mailbox.put(list[int]().pop)
    mailbox.put(done.set)
    await done.wait()
    assert [type(each) for each in failures] == [IndexError]


def test_a_record_of_tls_is_read_whole_and_the_next_one_is_found(wire: Wire) -> None:
    data = bytes(range(256)) * 400
    wire.server.sendall(data)
    received = bytearray()
    while len(received) < len(data):
        assert readable(wire.stream) == [wire.stream]
        received += wire.stream.recv(7_000)
    assert received == data


@pytest.mark.parametrize("name", ["localhost", "elsewhere"])
def test_a_connection_by_tls_is_for_the_host_that_was_named(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:
        served = threads.submit(accept, listening)
        handler, to = Handler(client_tls()), listening.getsockname()
        if name == "localhost":
            stream = handler.create_connection(to, name, 10, use_ssl=False, ca=None)
            stream.send(b"hello")
            stream.flush(10)
            assert served.result() == b"hello"
            stream.close()
        else:
            with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
                handler.create_connection(to, name, 10)


def accept(listening: socket.socket) -> bytes:
    """What a server hears first."""
    try:
        with listening.accept()[0] as plain, server_tls().wrap_socket(plain, server_side=True) as talking:
            return talking.recv(100)
    except ssl.SSLError:
        return b""


def test_what_ends_a_thread_of_kazoo_is_not_told_twice() -> None:
    def end() -> None:
        raise AuthFailedError

    Handler().spawn(end).join()
