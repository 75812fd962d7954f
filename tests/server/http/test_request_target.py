"""Targets of requests, as uvicorn reads them from a socket."""

import asyncio
import socket

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from server.http.server import HttpServer


async def status(target: str) -> str:
    """Return the status of the answer to a request for this target, on a server that knows every path below /v1."""

    async def echo(request: Request) -> Response:
        return PlainTextResponse(request.url.path)

    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = HttpServer(listening, [Route("/v1/{rest:path}", echo)])
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {target} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n".encode())
    line = (await reader.read()).decode().split()[1]
    writer.close()
    await server.stop()
    return line


@pytest.mark.parametrize("target", ["/v1/status", "/v1/a%2Fb", "/v1//x@y?z=/"])
async def test_a_path_is_served(target: str) -> None:
    assert await status(target) == "200"


@pytest.mark.parametrize(
    "target", ["%2Fv1%2F@127.0.0.2:80/x", "%2Fv1/status", "@h/v1/x", "*", "http://h/v1/x", "?/v1/x", "\\v1"]
)
async def test_a_target_that_is_no_path_is_refused(target: str) -> None:
    assert await status(target) == "400"
