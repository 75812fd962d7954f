"""Requests and answers on the wire, as RFC 9112 has them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from common.clock import ManualClock
from server.http.connection import KEY
from server.http.connections import CHECK_SECONDS
from server.http.server import HttpServer
from tests.server.http_site import Listening, rest

GET = b"GET %s HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST %s HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


class Rig:
    """A server with routes that show how requests arrive."""

    def __init__(self) -> None:
        self.listening = Listening()
        self.listening.bind(("127.0.0.1", 0))
        self.listening.listen(10)
        self.clock = ManualClock()
        self.server = HttpServer(self.listening, self.routes(), clock=self.clock)
        self.asked, self.release = asyncio.Semaphore(0), asyncio.Event()
        self.clients: list[asyncio.StreamWriter] = []

    def routes(self) -> list[BaseRoute]:
        async def echo(request: Request) -> Response:
            return Response(await request.body(), headers={"x-query": request.url.query})

        async def wait(request: Request) -> Response:
            self.asked.release()
            await self.release.wait()
            return PlainTextResponse(request.scope["state"][KEY].peer)

        async def stream(_: Request) -> Response:
            async def parts() -> AsyncIterator[bytes]:
                yield b"first"
                self.asked.release()
                await self.release.wait()
                yield b"last"

            return StreamingResponse(parts())

        async def fail(_: Request) -> Response:
            raise ValueError("a bug")

        async def half(_: Request) -> Response:
            async def parts() -> AsyncIterator[bytes]:
                yield b"first"
                raise ValueError("a bug")

            return StreamingResponse(parts())

        found = {"/echo": echo, "/wait": wait, "/stream": stream, "/fail": fail, "/half": half}
        return [Route(path, handler, methods=["GET", "POST"]) for path, handler in found.items()]

    async def connect(self, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self.listening.getsockname())
        self.clients.append(writer)
        writer.write(data)
        return reader, writer


@asynccontextmanager
async def served() -> AsyncIterator[Rig]:
    rig = Rig()
    await rig.server.start()
    yield rig
    rig.release.set()
    for client in rig.clients:
        client.close()
    await rig.server.stop()


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the head and the body of an answer that states its length."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
    return head, await reader.readexactly(length)


@pytest.mark.parametrize(
    "body",
    [
        b"content-length: 5\r\n\r\nhello",
        CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        CHUNKED + b"5;x=y\r\nhello\r\n0\r\ntrailer: 1\r\n\r\n",
    ],
)
async def test_a_body_arrives_whole_and_the_connection_stays_open(body: bytes) -> None:
    async with served() as rig:
        reader, writer = await rig.connect(POST % b"/echo?a=%20b" + body)
        head, echoed = await answer(reader)
        assert (head[:15], echoed) == (b"http/1.1 200 ok", b"hello")
        assert b"\r\nx-query: a=%20b\r\n" in head
        assert b"\r\ndate: " in head
        writer.write(GET % b"/echo")
        assert (await answer(reader))[1] == b""


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with served() as rig:
        requests = [POST % b"/echo" + b"content-length: 1\r\n\r\n" + name for name in (b"a", b"b", b"c")]
        reader, _ = await rig.connect(b"".join(requests))
        assert [(await answer(reader))[1] for _ in requests] == [b"a", b"b", b"c"]


async def test_a_client_that_waits_for_100_continue_gets_it_when_its_body_is_wanted() -> None:
    async with served() as rig:
        reader, writer = await rig.connect(
            POST % b"/echo" + b"expect: 100-continue\r\ncontent-length: 2\r\n\r\n"
        )
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert (await answer(reader))[1] == b"ok"


async def test_an_answer_to_head_has_no_body() -> None:
    async with served() as rig:
        reader, _ = await rig.connect(b"HEAD /wait HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        rig.release.set()
        head, _, body = (await rest(reader)).lower().partition(b"\r\n\r\n")
        assert (b"content-length:" in head, b"\r\nconnection: close" in head, body) == (True, True, b"")


async def test_a_streamed_answer_is_chunked_and_sent_as_it_is_made() -> None:
    async with served() as rig:
        reader, _ = await rig.connect(GET % b"/stream")
        assert b"transfer-encoding: chunked" in (await reader.readuntil(b"\r\n\r\n")).lower()
        assert await reader.readuntil(b"first\r\n") == b"5\r\nfirst\r\n"
        rig.release.set()
        assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\nlast\r\n0\r\n\r\n"


async def test_http_1_0_gets_the_end_of_the_connection_instead_of_chunks() -> None:
    async with served() as rig:
        rig.release.set()
        reader, _ = await rig.connect(b"GET /stream HTTP/1.0\r\n\r\n")
        assert (await rest(reader)).endswith(b"\r\n\r\nfirstlast")


async def test_a_failure_is_logged_and_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as rig:
        reader, _ = await rig.connect(GET % b"/fail")
        assert (await rest(reader)).startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert caplog.messages == ["cannot answer GET /fail"]


async def test_the_answer_to_a_failed_request_is_an_error_in_json() -> None:
    async with served() as rig, httpx.AsyncClient() as client:
        host, port = rig.listening.getsockname()
        answer = await client.get(f"http://{host}:{port}/fail")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"error": "reassignd could not answer this request; its log has the reason"}


async def test_an_answer_that_fails_half_way_ends_early(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as rig:
        reader, _ = await rig.connect(GET % b"/half")
        assert (await rest(reader)).endswith(b"5\r\nfirst\r\n")
    assert caplog.messages == ["cannot answer GET /half"]


async def test_a_kept_connection_without_a_further_request_is_closed_after_5_s() -> None:
    async with served() as rig:
        reader, writer = await rig.connect(GET % b"/echo")
        await answer(reader)
        await rig.clock.advance(5)
        writer.write(GET % b"/echo")
        await answer(reader)
        await rig.clock.advance(5 + 2 * CHECK_SECONDS)
        assert await rest(reader) == b""


async def test_a_stop_waits_for_an_answer_in_progress() -> None:
    async with served() as rig:
        reader, writer = await rig.connect(GET % b"/wait")
        await rig.asked.acquire()
        stopping = asyncio.create_task(rig.server.stop())
        await asyncio.sleep(0)
        rig.release.set()
        name, port = writer.get_extra_info("sockname")
        assert (await rest(reader)).endswith(f"{name}:{port}".encode())
        await stopping


async def test_a_stop_ends_an_answer_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.http.connections.GRACE_SECONDS", 0)
    async with served() as rig:
        reader, _ = await rig.connect(GET % b"/wait")
        await rig.asked.acquire()
        await rig.server.stop()
        assert await rest(reader) == b""


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"\x00garbage\r\n\r\n", b"400 Bad Request", "illegal request line"),
        (b"GET / HTTP/1.1\r\nUp grade: x\r\n\r\n", b"400 Bad Request", "illegal header line"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400 Bad Request", "Missing mandatory Host: header"),
        (b"GET /" + b"x" * 20_000, b"431 Request Header Fields Too Large", "Receive buffer too long"),
        (POST % b"/echo" + CHUNKED + b"no chunk\r\n", b"400 Bad Request", "illegal chunk header"),
    ],
)
async def test_bytes_that_are_not_http_are_refused_in_one_line_of_json(
    data: bytes, status: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as rig:
        reader, writer = await rig.connect(data)
        head, _, body = (await rest(reader)).partition(b"\r\n\r\n")
        host, port = writer.get_extra_info("sockname")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    refused = f"not an HTTP/1.1 request: {reason}"
    assert json.loads(body) == {"error": refused}
    assert caplog.messages == [f"closed the connection of {host}:{port}: {refused}"]


async def test_garbage_during_an_answer_only_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as rig:
        reader, writer = await rig.connect(POST % b"/stream" + CHUNKED)
        await rig.asked.acquire()
        writer.write(b"no chunk\r\n")
        assert (await rest(reader)).endswith(b"5\r\nfirst\r\n")
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("data", "statuses"),
    [
        (b"GET /echo HTTP/1.0\r\n\r\n", [200]),
        (b"\r\n\r\n" + GET % b"/echo", [400]),
        (b"GET /echo HTTP/1.1\nhost: localhost\n\n", [200, 200]),
        (GET % b"http://localhost/echo", [400, 200]),
        (GET % b"*", [400, 200]),
        (b"GET /echo HTTP/1.2\r\nhost: localhost\r\n\r\n", [200, 200]),
        (b"GET /echo\r\n\r\n", [400]),
        (b"GET  /echo HTTP/1.1\r\nhost: localhost\r\n\r\n", [400]),
        (POST % b"/echo" + b"host: other\r\n\r\n", [400]),
        (POST % b"/echo" + b"x : 1\r\n\r\n", [400]),
        (POST % b"/echo" + b"content-length: -1\r\n\r\n", [400]),
        (POST % b"/echo" + b"content-length: +1\r\n\r\na", [400]),
        (POST % b"/echo" + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab", [400]),
        (POST % b"/echo" + b"content-length: 1\r\n" + CHUNKED + b"0\r\n\r\n", [400]),
        (POST % b"/echo" + b"transfer-encoding: gzip, chunked\r\n\r\n", [501]),
        (POST % b"/echo" + b"content-length: 1\r\n\r\nabcd\r\n\r\n", [200, 400]),
        (POST % b"/fail" + b"content-length: 1\r\n\r\na" + GET % b"/echo", [500]),
    ],
)
async def test_each_request_gets_its_status(data: bytes, statuses: list[int]) -> None:
    """A valid request follows, which is answered if the connection stays open."""
    async with served() as rig:
        rig.release.set()
        reader, _ = await rig.connect(data + GET[:-2] % b"/echo" + b"connection: close\r\n\r\n")
        found = re.findall(rb"HTTP/1\.1 (\d+) ", await rest(reader))
        assert [int(each) for each in found] == statuses


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c", b"\x80\xff", b"/"])
async def test_an_upgrade_header_is_ignored(upgrade: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with served() as rig:
        reader, writer = await rig.connect(
            (GET % b"/echo")[:-2]
            + b"connection: upgrade\r\nupgrade: "
            + upgrade
            + b"\r\n\r\n"
            + GET % b"/echo"
        )
        assert [(await answer(reader))[0][:15] for _ in range(2)] == [b"http/1.1 200 ok"] * 2
        writer.close()
    assert caplog.messages == []
