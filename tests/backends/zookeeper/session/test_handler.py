"""The handler's sockets on socket pairs. `tests/zookeeper/test_client.py` tests it with a real ZooKeeper."""

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

from backends.zookeeper.session.handler import (
    BUFFER_BYTES,
    BufferedSocket,
    CallbackQueue,
    KazooHandler,
    WakeupSocket,
)


class Connection(NamedTuple):
    """A client's socket, and the server's end of it."""

    client: BufferedSocket
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
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    server, client = socket.socketpair()
    if request.param == "tls":
        with ThreadPoolExecutor() as threads:
            served = threads.submit(server_tls().wrap_socket, server, server_side=True)
            client = client_tls().wrap_socket(client, server_hostname="localhost")
            server = served.result()
    client.setblocking(False)
    server.settimeout(10)
    with server, client:
        yield Connection(BufferedSocket(client), server)


@pytest.fixture
def wakeup() -> Iterator[WakeupSocket]:
    wakeup = WakeupSocket()
    yield wakeup
    wakeup.close()


def readable(
    *things: BufferedSocket | WakeupSocket, timeout: float = 10
) -> list[BufferedSocket | WakeupSocket]:
    """Return the sockets that select reports as readable."""
    return KazooHandler().select(things, [], [], timeout)[0]


def test_writes_are_sent_together_before_a_wait(connection: Connection) -> None:
    assert (connection.client.send(b"one"), connection.client.send(b"two")) == (3, 3)
    assert readable(connection.client, timeout=0) == []
    assert connection.server.recv(100) == b"onetwo"


def test_a_response_is_read_in_parts_without_a_wait(connection: Connection) -> None:
    connection.server.sendall(b"0004data")
    assert readable(connection.client) == [connection.client]
    assert connection.client.recv(4) == b"0004"
    assert readable(connection.client) == [connection.client]
    assert (connection.client.recv(10), connection.client.pending()) == (b"data", 0)
    assert readable(connection.client, timeout=0) == []


def test_a_socket_is_always_writable(connection: Connection) -> None:
    assert KazooHandler().select([], [connection.client], [], 10) == ([], [connection.client], [])


def test_a_large_write_is_sent_as_the_server_reads(connection: Connection) -> None:
    data = bytes(range(256)) * 20_000
    connection.client.send(data)
    received = bytearray()

    def read() -> None:
        while len(received) < len(data):
            received.extend(connection.server.recv(100_000))

    reading = threading.Thread(target=read)
    reading.start()
    connection.client.flush(10)
    reading.join()
    assert received == data


def test_a_server_that_reads_nothing_is_an_error(connection: Connection) -> None:
    connection.client.send(bytes(5_000_000))
    with pytest.raises(TimeoutError, match="accepts no more"):
        connection.client.flush(0)


def test_a_wakeup_socket_has_as_many_bytes_as_were_sent(wakeup: WakeupSocket) -> None:
    for _ in range(3):
        wakeup.send(b"\0")
    for _ in range(3):
        assert readable(wakeup) == [wakeup]
        assert wakeup.recv(1) == b"\0"
    assert readable(wakeup, timeout=0) == []
    with pytest.raises(BlockingIOError):
        wakeup.recv(1)


def test_a_wakeup_socket_ends_a_wait(wakeup: WakeupSocket, connection: Connection) -> None:
    ringing = threading.Thread(target=wakeup.send, args=(b"\0",))
    ringing.start()
    assert readable(connection.client, wakeup) == [wakeup]
    ringing.join()


def test_wakeups_do_not_delay_responses(wakeup: WakeupSocket, connection: Connection) -> None:
    wakeup.send(b"\0")
    connection.server.sendall(b"answer")
    assert readable(connection.client, wakeup) == [wakeup]
    connection.client.send(bytes(BUFFER_BYTES))
    assert readable(connection.client, wakeup) == [connection.client, wakeup]
    assert connection.server.recv(1) == b"\0"


def test_a_closed_wakeup_socket_is_an_error() -> None:
    wakeup = WakeupSocket()
    wakeup.close()
    with pytest.raises(OSError, match="descriptor"):
        wakeup.send(b"\0")


def test_callbacks_of_a_result_run_on_the_thread_that_sets_it() -> None:
    result = KazooHandler().async_result()
    told: list[int] = []
    result.rawlink(lambda _: told.append(threading.get_ident()))
    result.set("done")
    assert (told, result.get_nowait()) == ([threading.get_ident()], "done")


async def test_callbacks_run_in_order_on_the_event_loop() -> None:
    queue, done, read = CallbackQueue(asyncio.get_running_loop()), asyncio.Event(), list[int]()

    def write() -> None:
        for number in range(1_000):
            queue.put(partial(read.append, number))
        queue.put(done.set)

    await asyncio.to_thread(write)
    await done.wait()
    assert read == list(range(1_000))


async def test_a_callback_that_fails_does_not_stop_the_next() -> None:
    loop, failures, done = asyncio.get_running_loop(), list[object](), asyncio.Event()
    loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))
    queue = CallbackQueue(loop)
    queue.put(list[int]().pop)
    queue.put(done.set)
    await done.wait()
    assert [type(each) for each in failures] == [IndexError]


def test_tls_records_are_read_one_after_the_other(connection: Connection) -> None:
    data = bytes(range(256)) * 400
    connection.server.sendall(data)
    received = bytearray()
    while len(received) < len(data):
        assert readable(connection.client) == [connection.client]
        received += connection.client.recv(7_000)
    assert received == data


@pytest.mark.parametrize("name", ["localhost", "elsewhere"])
def test_a_tls_connection_verifies_the_host_name(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:
        served = threads.submit(accept, listening)
        handler, to = KazooHandler(client_tls()), listening.getsockname()
        if name == "localhost":
            client = handler.create_connection(to, name, 10, use_ssl=False, ca=None)
            client.send(b"hello")
            client.flush(10)
            assert served.result() == b"hello"
            client.close()
        else:
            with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
                handler.create_connection(to, name, 10)


def accept(listening: socket.socket) -> bytes:
    """Return the first data that the server receives."""
    try:
        with listening.accept()[0] as plain, server_tls().wrap_socket(plain, server_side=True) as talking:
            return talking.recv(100)
    except ssl.SSLError:
        return b""


def test_an_error_that_ends_a_kazoo_thread_is_suppressed() -> None:
    def end() -> None:
        raise AuthFailedError

    KazooHandler().spawn(end).join()
