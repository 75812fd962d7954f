"""Requests with two lengths, as uvicorn reads them from a socket."""

import asyncio
import socket

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from server.http.server import HttpServer

CHUNKED = "transfer-encoding: chunked\r\n"
LENGTH = "content-length: 60\r\n"


async def answer(headers: str) -> str:
    """Return everything that a server sends until it closes the connection."""

    async def echo(request: Request) -> Response:
        return PlainTextResponse(f"body {len(await request.body())}", headers={"connection": "close"})

    listening = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(listening, [Route("/v1/pause", echo, methods=["POST"])])
    port = listening.getsockname()[1]
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /v1/pause HTTP/1.1\r\nhost: test\r\n{headers}\r\n0\r\n\r\n".encode())
    said = (await reader.read()).decode()
    writer.close()
    await server.stop()
    return said


async def test_a_chunked_body_is_read() -> None:
    assert (await answer(CHUNKED)).endswith("body 0")


async def test_a_request_with_both_lengths_is_refused_and_the_connection_closed() -> None:
    said = await answer(LENGTH + CHUNKED)
    assert said.startswith("HTTP/1.1 400 ")
    assert "both Content-Length and Transfer-Encoding" in said
