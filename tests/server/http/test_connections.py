"""The limit of HTTP connections."""

import asyncio
import socket
import ssl

import pytest

from common import accepting
from common.clock import ManualClock
from server.http.connection import Bounds
from server.http.connections import CHECK_SECONDS
from tests.server.http_site import HEAD, UPLOAD, Connection, client_tls, rest, server_tls, serving


async def until_accepted(connection: Connection) -> None:
    """Send a request and wait for its answer, so that the server has certainly accepted the connection."""
    reader, writer = connection
    writer.write(HEAD + b"\r\n")
    while await reader.readline() != b"\r\n":
        pass
    await reader.readexactly(3)


async def test_a_new_connection_replaces_the_longest_silent_one() -> None:
    async with serving(Bounds(connections=2)) as site:
        first, second = await site.connect(), await site.connect()
        await until_accepted(first)
        await until_accepted(second)
        await until_accepted(first)
        assert await site.status() == 200
        assert await second[0].read() == b""
        await until_accepted(first)


@pytest.mark.parametrize("sent", [b"", HEAD, UPLOAD + b"abc"])
async def test_clients_that_keep_the_server_waiting_never_block_a_probe(sent: bytes) -> None:
    async with serving(Bounds(connections=3, reserve=0)) as site:
        waiting = [await site.connect(sent) for _ in range(20)]
        assert await site.status() == 200
        assert await site.status("/readyz") == 200
        assert len(waiting) == 20


async def test_requests_in_progress_are_kept_and_the_reserve_answers_probes_only() -> None:
    async with serving(Bounds(connections=2, reserve=2)) as site:
        served = [await site.wait() for _ in range(2)]
        assert await site.status("/healthz") == 200
        assert await site.status("/wait") == 503
        site.release.set()
        assert [(await rest(reader)).endswith(b"released") for reader in served] == [True, True]


async def test_connections_beyond_the_reserve_are_refused() -> None:
    async with serving(Bounds(connections=1, reserve=0)) as site:
        served = await site.wait()
        assert await site.status() == 503
        site.release.set()
        assert (await served.readline()).startswith(b"HTTP/1.1 200")


async def test_connections_in_the_tls_handshake_count_and_make_room() -> None:
    async with serving(Bounds(connections=3, reserve=0), server_tls()) as site:
        half = [await site.connect() for _ in range(20)]
        assert await site.status(tls=client_tls()) == 200
        assert [await rest(reader) for reader, _ in half[:17]] == [b""] * 17


async def test_a_failed_tls_handshake_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(tls=server_tls()) as site:
        reader, writer = await site.connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.read()
        await site.status(tls=client_tls())
    assert "the TLS handshake failed: [SSL: HTTP_REQUEST]" in caplog.text


def answered_over_tls(port: int) -> ssl.SSLSocket:
    """Send a request and read the answer up to the server's end of TLS, which the client does not confirm."""
    client = client_tls().wrap_socket(socket.create_connection(("127.0.0.1", port)))
    client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
    while client.recv(65536):
        pass
    return client


async def test_the_server_stops_while_a_client_does_not_end_its_tls_connection() -> None:
    async with serving(tls=server_tls()) as site:
        client = await asyncio.to_thread(answered_over_tls, site.port)
    client.close()


async def test_a_failed_accept_is_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0)
    failures = iter([OSError(24, "Too many open files")])
    async with serving() as site:
        site.listening.failures = failures
        assert await site.status() == 200
    assert "HTTP connections cannot be accepted: [Errno 24] Too many open files; retrying" in caplog.messages


async def test_overdue_connections_are_closed_by_the_clock() -> None:
    clock = ManualClock()
    async with serving(Bounds(head=20), clock=clock) as site:
        connection = await site.connect()
        await until_accepted(connection)
        await clock.advance(20)
        assert await site.status() == 200
        await clock.advance(CHECK_SECONDS)
        assert await rest(connection[0]) == b""
