"""Listeners, one per broker, opened and closed while others serve."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from common import accepting
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from server.connections import registry
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Session
from server.counters import Counters
from server.security.login import TRUSTED
from tests.server.fakes import FakeBroker
from tests.server.sockets import PROMPT, Talk, serving, until


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECK_SECONDS", 0.01)


async def test_a_client_is_answered() -> None:
    async with serving() as served:
        talk = await served.connect()
        assert (await talk.ask(DescribeClusterRequest(), 1)).cluster_id == "cluster-1"
        await talk.close()


async def test_a_connection_above_the_limit_is_closed_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(ConnectionLimits(max_connections=1)) as served:
        first = await served.connect()
        await first.ask(DescribeClusterRequest(), 1)
        second = await served.connect()
        assert await second.ended()
        assert "1 are open already" in caplog.text
        await first.ask(DescribeClusterRequest(), 1)
        await first.close()
        await second.close()


async def test_a_connection_that_ends_makes_room_for_another() -> None:
    async with serving(ConnectionLimits(max_connections=1)) as served:
        for _ in range(3):
            talk = await served.connect()
            await talk.ask(DescribeClusterRequest(), 1)
            await talk.close()
            await until(lambda: not served.listeners.connections)


async def test_connections_are_counted() -> None:
    async with serving() as served:
        talk = await served.connect()
        await talk.ask(DescribeClusterRequest(), 1)
        assert (served.listeners.connections, served.stats.connections) == (1, 1)
        await talk.close()
    assert (served.listeners.connections, served.stats.connections) == (0, 0)


async def test_closing_a_listener_closes_only_its_own_connections() -> None:
    async with serving() as served:
        await served.listeners.open(FakeBroker(2), "127.0.0.1", 0)
        host, port = await served.listeners.open(FakeBroker(3), "127.0.0.1", 0)
        stays = await served.connect()
        reader, writer = await asyncio.open_connection(host, port)
        await served.listeners.close(3)
        assert await asyncio.wait_for(reader.read(), PROMPT) == b""
        writer.close()
        await stays.ask(DescribeClusterRequest(), 1)
        await stays.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, port)


async def test_closing_all_waits_for_answers_in_progress() -> None:
    async with serving() as served:
        served.held = asyncio.Event()
        talk = await served.connect()
        asked = asyncio.create_task(talk.ask(DescribeClusterRequest(), 1))
        await until(lambda: served.holding == 1)
        closing = asyncio.create_task(served.listeners.close_all(5))
        await asyncio.sleep(0)
        served.held.set()
        assert (await asked).error_code == 0
        await closing
        assert await talk.ended()
        await talk.close()


async def test_closing_all_waits_no_longer_than_the_grace_period() -> None:
    async with serving() as served:
        served.held = asyncio.Event()
        talk = await served.connect()
        talk.writer.write(talk.client.ask(DescribeClusterRequest(), 1))
        await until(lambda: served.holding == 1)
        await served.listeners.close_all(0.01)
        assert await talk.ended()
        await talk.close()


async def test_an_idle_connection_is_closed_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(ConnectionLimits(idle=0.05)) as served:
        talk = await served.connect()
        assert await talk.ended()
        assert [r.levelno for r in caplog.records if "idle for 0.05 s" in r.getMessage()] == [logging.WARNING]
        await talk.close()


def sessions() -> set[Session]:
    """Return all live objects of this kind, including those of other tests."""
    return {each for each in gc.get_objects() if isinstance(each, Session)}


@pytest.mark.parametrize("held", [False, True], ids=["answered", "while it waits for an answer"])
async def test_a_closed_connection_is_freed_without_the_garbage_collector(held: bool) -> None:
    async with serving() as served:
        gc.disable()
        others = sessions()
        try:
            talks = [await served.connect() for _ in range(20)]
            if held:
                served.held = asyncio.Event()
            for talk in talks:
                talk.writer.write(talk.client.ask(DescribeClusterRequest(), 1))
            await until(lambda: served.holding == 20 * held and served.listeners.connections == 20)
            for talk in talks:
                await talk.abort()
            await until(lambda: sessions() <= others)
        finally:
            gc.enable()


def tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(Path(__file__).parents[2] / "reassignd" / "tls" / "server.pem")
    return context


async def test_a_connection_is_counted_before_its_tls_handshake() -> None:
    async with serving(ConnectionLimits(max_connections=1), tls()) as served:
        half_open = await served.connect()
        await until(lambda: served.listeners.connections == 1)
        too_many = await served.connect()
        assert await too_many.ended()
        await too_many.close()
        await half_open.close()
        await until(lambda: served.listeners.connections == 0)


async def test_a_slow_handshake_is_aborted(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(ConnectionLimits(handshake=0.05), tls()) as served:
        silent = await served.connect()
        assert await silent.ended()
        # From Python 3.12 on, the client may be told before the server's task has ended.
        await until(lambda: (served.listeners.connections, served.stats.connections) == (0, 0))
        await silent.close()
    assert "the TLS handshake was not complete in time" in caplog.text


async def test_failed_handshakes_are_one_line_with_the_address_and_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(tls=tls()) as served:
        for _ in range(3):
            plain = await served.connect()
            plain.writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await plain.reader.read()
            await until(lambda: served.listeners.connections == 0)
            await plain.close()
    (line,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert line.startswith("closed the connection of 127.0.0.1:")
    assert ": the TLS handshake failed: [SSL: HTTP_REQUEST]" in line


async def test_a_client_that_leaves_before_its_handshake_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(tls=tls()) as served:
        probe = await served.connect()
        await until(lambda: served.listeners.connections == 1)
        await probe.close()
        await until(lambda: served.listeners.connections == 0)
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_closing_aborts_handshakes_in_progress() -> None:
    async with serving(tls=tls()) as served:
        silent = await served.connect()
        await until(lambda: served.listeners.connections == 1)
        await served.listeners.close(1)
        assert await silent.ended()
        assert served.listeners.connections == 0
        await silent.close()
        await served.listeners.open(FakeBroker(1), "127.0.0.1", 0)


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Use up all file descriptors of the process during the block."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 20, before[1]))
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.dup(taken[0]))
    try:
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_without_free_descriptors_clients_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.01)
    async with serving() as served:
        client = socket.socket()
        client.setblocking(False)
        with no_descriptor_left():
            await asyncio.get_running_loop().sock_connect(client, (served.host, served.port))
            await until(lambda: "cannot be accepted" in caplog.text)
            await asyncio.sleep(0.1)
        talk = Talk(*await asyncio.open_connection(sock=client))
        assert (await talk.ask(DescribeClusterRequest(), 1)).cluster_id == "cluster-1"
        await talk.close()
    assert caplog.text.count("cannot be accepted") == 1


async def test_all_addresses_of_a_host_name_share_one_port() -> None:
    async with serving() as served:
        _, port = await served.listeners.open(FakeBroker(2), "localhost", 0)
        for _, _, _, _, at in await asyncio.get_running_loop().getaddrinfo("localhost", port):
            _, writer = await asyncio.open_connection(*at[:2])
            writer.close()


async def test_an_address_in_use_is_an_os_error() -> None:
    async with serving() as served:
        with pytest.raises(OSError, match="Address already in use"):
            await served.listeners.open(FakeBroker(2), served.host, served.port)


async def test_the_event_loops_lag_is_measured() -> None:
    async with serving() as served:
        served.stats.loop_lag_seconds = -1
        await until(lambda: served.stats.loop_lag_seconds >= 0)


async def test_closing_without_open_listeners_does_nothing() -> None:
    await Listeners(
        partial(Session, lambda *_: b"", ConnectionLimits()),
        ConnectionRegistry(ConnectionLimits(), Counters()),
    ).close_all(0)


async def test_a_socket_of_this_process_is_served_until_its_listener_closes() -> None:
    async with serving() as served:
        make = partial(Session, served.answer, ConnectionLimits(), gate=TRUSTED)
        near, far = socket.socketpair()
        far.setblocking(False)
        served.listeners.serve(FakeBroker(1), far, make)
        talk = Talk(*await asyncio.open_unix_connection(sock=near))
        assert (await talk.ask(DescribeClusterRequest(), 1)).cluster_id == "cluster-1"
        await served.listeners.close(1)
        assert await talk.ended()
        await talk.close()
        with pytest.raises(ConnectionRefusedError, match="broker 1 does not accept connections"):
            served.listeners.serve(FakeBroker(1), far, make)
