"""Bytes and bells on socket pairs; `tests/zookeeper/test_client.py` has all of it before a real ZooKeeper."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest

from backends.zookeeper.handler import MUCH_BYTES, Bell, Handler, Mailbox, Stream


class Wire(NamedTuple):
    """A stream, and the server's end of it."""

    stream: Stream
    server: socket.socket


@pytest.fixture
def wire() -> Iterator[Wire]:
    server, client = socket.socketpair()
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
