"""One HTTP connection and its time limits."""

import asyncio
import gc
import ssl

import pytest

from server.http import connections
from server.http.connection import Bounds, HttpConnection
from tests.server.http_site import (
    HEAD,
    LARGE,
    REVIEW,
    UPLOAD,
    client_tls,
    rest,
    server_tls,
    serving,
)


@pytest.fixture(autouse=True)
def checks_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CHECK_SECONDS", 0.02)


@pytest.mark.parametrize("sent", [b"", b"G", HEAD, HEAD + b"x: " + b"a" * 1000])
async def test_an_incomplete_request_closes_the_connection(sent: bytes) -> None:
    async with serving(Bounds(head=0)) as site:
        reader, _ = await site.connect(sent)
        assert await rest(reader) == b""


async def test_an_incomplete_body_after_the_answer_closes_the_connection() -> None:
    async with serving(Bounds(head=0)) as site:
        reader, _ = await site.connect(UPLOAD.replace(b"upload", b"healthz"))
        assert (await rest(reader)).startswith(b"HTTP/1.1 405")


async def test_an_incomplete_body_closes_the_connection_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(Bounds(body=0)) as site:
        reader, _ = await site.connect(UPLOAD + b"abc")
        assert await rest(reader) == b""
    assert "Traceback" not in caplog.text


async def test_received_bytes_extend_the_time_for_a_body() -> None:
    async with serving(Bounds(body=10, body_rate=1)) as site:
        reader, writer = await site.connect(UPLOAD)
        connection = await site.uploading
        while connection.overdue(site.now + 11) is None:
            await asyncio.sleep(0.01)
        writer.write(b"ab")
        while connection.overdue(site.now + 11) is not None:
            await asyncio.sleep(0.01)
        assert connection.overdue(site.now + 20) == "the body was not complete after 12 s"
        writer.write(b"cde")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_an_answer_that_is_not_read_closes_the_connection() -> None:
    async with serving(Bounds(answer=0)) as site:
        reader, _ = await site.connect(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await site.cut.wait()
        assert len(await rest(reader)) < LARGE


async def test_an_incomplete_tls_handshake_closes_the_connection() -> None:
    async with serving(Bounds(handshake=0.01), server_tls()) as site:
        reader, _ = await site.connect()
        assert await rest(reader) == b""


@pytest.mark.parametrize(
    "sent", [b"", HEAD, HEAD + b"\r\n", UPLOAD + b"abc", UPLOAD + b"abcde", b"not HTTP\r\n\r\n"]
)
async def test_a_closed_connection_leaves_no_reference_cycle(sent: bytes) -> None:
    """The server rarely collects old garbage, so a cycle would stay in memory."""
    async with serving() as site:
        site.uploading.cancel()
        gc.collect()
        gc.disable()
        try:
            await site.visit(sent)
            assert [each for each in gc.get_objects() if isinstance(each, HttpConnection)] == []
        finally:
            gc.enable()


PIPELINED = b"GET /count HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def test_pipelined_requests_let_other_connections_be_served_in_between() -> None:
    async with serving() as site:
        await site.connect(PIPELINED * 1_000)
        while not site.counted:
            await asyncio.sleep(0)
        assert await site.status() == 200
        assert site.counted < 100


def counting_received_bytes(patch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the size of all data that connections receive."""
    received: list[int] = []
    passed_on = HttpConnection.data_received

    def count_bytes(connection: HttpConnection, data: bytes) -> None:
        received.append(len(data))
        passed_on(connection, data)

    patch.setattr(HttpConnection, "data_received", count_bytes)
    return received


async def test_a_streamed_answer_reads_no_further_pipelined_requests() -> None:
    """One read of 256 KiB at each answer would keep all requests of the client in memory."""
    with pytest.MonkeyPatch.context() as patch:
        received = counting_received_bytes(patch)
        async with serving() as site:
            reader, _ = await site.connect(PIPELINED.replace(b"count", b"stream") * 50_000)
            while site.counted < 30:
                await reader.read(65536)
            assert sum(received) < 1_000_000


@pytest.mark.parametrize(
    "request_head", [PIPELINED, PIPELINED.replace(b"\r\n\r\n", b"\r\ncontent-length: 1\r\n\r\nx")]
)
async def test_a_long_streamed_answer_does_not_count_as_a_missing_body(request_head: bytes) -> None:
    async with serving(Bounds(body=-1)) as site:
        reader, _ = await site.connect(request_head.replace(b"count", b"stream?seconds=0.2"))
        assert b"last" in await reader.readuntil(b"last")


async def test_pipelined_requests_wait_until_the_client_reads_the_answers() -> None:
    async with serving() as site:
        reader, writer = await site.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined] # it is a transport of a socket
        writer.write(PIPELINED * 20_000)
        before = -1
        while not site.counted or site.counted != before:
            before = site.counted
            await asyncio.sleep(0.3)
        assert 0 < site.counted < 20_000
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        while site.counted == before:
            await reader.read(65536)


@pytest.mark.parametrize("tls", [None, server_tls()])
@pytest.mark.parametrize("size", [1, 100_000, 3_000_000])
async def test_the_end_of_a_connection_is_noticed_after_a_body_of_any_size(
    size: int, tls: ssl.SSLContext | None
) -> None:
    async with serving(tls=tls) as site:
        _, writer = await site.connect(REVIEW % size + bytes(size), tls and client_tls())
        await site.waiting.acquire()
        writer.close()
        await site.left.wait()


async def test_requests_after_a_large_body_wait_for_its_answer() -> None:
    """Only one read of 256 KiB is made of them before."""
    with pytest.MonkeyPatch.context() as patch:
        received = counting_received_bytes(patch)
        async with serving() as site:
            reader, writer = await site.connect(REVIEW % 100_000 + bytes(100_000))
            await site.waiting.acquire()
            writer.write(PIPELINED * 50_000)
            await asyncio.sleep(0.1)
            assert (site.counted, sum(received) < 1_000_000) == (0, True)
            site.release.set()
            while site.counted < 30:
                await reader.read(65536)
            assert not site.left.is_set()


async def test_a_connection_serves_several_large_bodies() -> None:
    async with serving() as site:
        site.release.set()
        reader, writer = await site.connect()
        for _ in range(3):
            writer.write(REVIEW % 1_000_000 + bytes(1_000_000))
            assert b"reviewed" in await reader.readuntil(b"reviewed")
