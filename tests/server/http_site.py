"""A small HTTP server, and connections to it that are slow on purpose."""

import asyncio
import contextlib
import socket
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from common.clock import Clock, RealClock
from common.tasks import cancel
from server.http.connection import KEY, Bounds, HttpConnection
from server.http.server import Health, HttpServer, operations_routes

HEAD = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
REVIEW = b"POST /review HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
UPLOAD = b"POST /upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n"
SERVER = Path(__file__).parent.parent / "reassignd" / "tls" / "server.pem"

LARGE = 50_000_000

Connection = tuple[StreamReader, StreamWriter]


class Listening(socket.socket):
    """A listening socket whose `accept` raises each of `failures` once."""

    failures: Iterator[OSError] = iter(())

    def accept(self) -> tuple[socket.socket, Any]:
        for error in self.failures:
            raise error
        return super().accept()


class Site:
    """A running server, and connections to it."""

    def __init__(self, stack: AsyncExitStack, listening: Listening) -> None:
        self._stack, self.listening = stack, listening
        self.port: int = listening.getsockname()[1]
        self.release = asyncio.Event()
        """Completes the answers of /wait."""
        self.waiting = asyncio.Semaphore(0)
        """Released once for each request for /wait."""
        self.counted = 0
        """Answers of /count, of 1,000 bytes each."""
        self.left = asyncio.Event()
        """A client of /review has gone."""
        self.cut = asyncio.Event()
        """The answer of /large has ended."""
        self.uploading: asyncio.Future[HttpConnection] = asyncio.get_running_loop().create_future()
        self.now = RealClock().now()

    async def connect(self, data: bytes = b"", tls: ssl.SSLContext | None = None) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=tls)
        self._stack.callback(writer.close)
        writer.write(data)
        return reader, writer

    async def status(self, path: str = "/healthz", tls: ssl.SSLContext | None = None) -> int:
        """Return the status of a request on a new connection."""
        reader, _ = await self.connect(f"GET {path} HTTP/1.0\r\n\r\n".encode(), tls)
        return int((await reader.readline()).split()[1])

    async def visit(self, sent: bytes) -> None:
        """Connect, send, and close. Returns when the server has noticed the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        writer.write_eof()
        await rest(reader)
        writer.close()
        await writer.wait_closed()
        for _ in range(10):
            await asyncio.sleep(0)

    async def wait(self) -> StreamReader:
        """Send a request for /wait; return when the server is answering it."""
        reader, _ = await self.connect(b"GET /wait HTTP/1.0\r\n\r\n")
        await self.waiting.acquire()
        return reader

    def routes(self) -> list[BaseRoute]:
        async def count(_: Request) -> Response:
            self.counted += 1
            return Response(bytes(1000))

        async def stream(request: Request) -> Response:
            self.counted += 1
            return StreamingResponse(_parts(float(request.query_params.get("seconds", 0.005))))

        async def wait(_: Request) -> Response:
            self.waiting.release()
            await self.release.wait()
            return PlainTextResponse("released")

        async def upload(request: Request) -> Response:
            if not self.uploading.done():
                self.uploading.set_result(request.scope["state"][KEY])
            try:
                return PlainTextResponse(await request.body())
            except ClientDisconnect:
                return Response()

        async def large(_: Request) -> Response:
            return Response(bytes(LARGE), background=BackgroundTask(self.cut.set))

        return [
            *operations_routes(Health(None)),
            Route("/count", count),
            Route("/stream", stream),
            Route("/wait", wait),
            Route("/upload", upload, methods=["POST"]),
            Route("/review", self._review, methods=["POST"]),
            Route("/large", large),
        ]

    async def _review(self, request: Request) -> Response:
        await request.body()
        self.waiting.release()
        waits = [asyncio.create_task(self.release.wait()), asyncio.ensure_future(request.receive())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if waits[1].done():
            self.left.set()
        await cancel(*waits)
        return PlainTextResponse("reviewed")


async def _parts(seconds: float) -> AsyncIterator[bytes]:
    """Yield a part, wait, and yield another."""
    yield b"first "
    await asyncio.sleep(seconds)
    yield b"last"


@asynccontextmanager
async def serving(
    bounds: Bounds | None = None, tls: ssl.SSLContext | None = None, clock: Clock | None = None
) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        listening = Listening()
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        listening.setblocking(False)
        site = Site(stack, listening)
        server = HttpServer(listening, site.routes(), tls, bounds, None, clock)
        await server.start()
        stack.push_async_callback(server.stop)
        yield site


async def rest(reader: StreamReader) -> bytes:
    """Return all data until the connection is closed or reset."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := await reader.read(65536):
            found += data
    return found


def server_tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(SERVER)
    return context


def client_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
