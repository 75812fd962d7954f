import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from server.http.server import Health, HttpServer, operations_routes, root_routes


def listening_socket() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@asynccontextmanager
async def serving(routes: list[BaseRoute]) -> AsyncIterator[int]:
    """Serve the routes; yield the port."""
    listening = listening_socket()
    server = HttpServer(listening, routes)
    await server.start()
    yield listening.getsockname()[1]
    await server.stop()


async def get(port: int, path: str, accept: str = "*/*") -> tuple[int, str]:
    """Return the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {path} HTTP/1.1\r\nhost: test\r\naccept: {accept}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), body


def routes(obstacle: str | None = None) -> list[BaseRoute]:
    return operations_routes(Health(obstacle))


async def test_a_running_process_is_healthy() -> None:
    async with serving(routes("not yet")) as port:
        assert await get(port, "/healthz") == (200, "ok\n")


async def test_readiness_follows_the_obstacle() -> None:
    health = Health("records are being loaded")
    async with serving(operations_routes(health)) as port:
        assert await get(port, "/readyz") == (503, "records are being loaded\n")
        health.obstacle = None
        assert await get(port, "/readyz") == (200, "ready\n")
        health.details = lambda: "role: standby\n"
        assert await get(port, "/readyz") == (200, "ready\nrole: standby\n")


async def test_metrics_are_made_for_each_request() -> None:
    health = Health(None)
    async with serving(operations_routes(health)) as port:
        assert await get(port, "/metrics") == (200, "")
        health.metrics = lambda: b"some_metric 1\n"
        assert await get(port, "/metrics") == (200, "some_metric 1\n")


async def test_the_root_lists_the_paths_and_is_the_page_for_a_browser() -> None:
    found = [*routes(), Route("/v1/jobs/{job}", root_routes), Route("/v1/{rest:path}", root_routes)]
    async with serving([*root_routes(found), *found]) as port:
        assert await get(port, "/") == (200, "/healthz\n/readyz\n/metrics\n/v1/jobs/{job}\n")
        status, page = await get(port, "/", accept="text/html,application/xhtml+xml")
    assert (status, page.startswith("<!doctype html>")) == (200, True)


async def test_an_unknown_path_is_not_found() -> None:
    async with serving(routes()) as port:
        assert (await get(port, "/nothing"))[0] == 404


async def test_further_routes_are_served() -> None:
    async def answer(_: Request) -> Response:
        return PlainTextResponse("jobs")

    async with serving([*routes(), Route("/v1/jobs", answer)]) as port:
        assert await get(port, "/v1/jobs") == (200, "jobs")


async def test_signal_handlers_are_not_changed() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with serving(routes()):
        assert signal.getsignal(signal.SIGTERM) is before


async def test_an_idle_connection_does_not_delay_a_stop() -> None:
    async with serving(routes()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


async def test_garbage_is_logged_with_the_address_of_its_sender(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(routes()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        own_port = writer.get_extra_info("sockname")[1]
        writer.write(b"\x00garbage\r\n\r\n")
        assert b"400" in await reader.readline()
        writer.close()
    reason = "not an HTTP/1.1 request: illegal request line"
    assert caplog.messages == [f"closed the connection of 127.0.0.1:{own_port}: {reason}"]


@pytest.mark.parametrize(
    ("request_line", "status", "text"),
    [
        (b"GET /nothing", 404, "there is no /nothing"),
        (b"GET /" + b"x" * 5000, 404, "there is no /" + "x" * 79),
        (b"POST /metrics", 405, "/metrics does not take POST"),
        (b"FOO /healthz", 405, "/healthz does not take FOO"),
    ],
)
async def test_a_path_or_method_without_a_route_is_refused_in_json(
    request_line: bytes, status: int, text: str
) -> None:
    async with serving(routes()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_line + b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body) == {"error": text}


async def test_repeated_garbage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(routes()) as port:
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nUp grade: x\r\n\r\n")
            assert b"400" in await reader.readline()
            writer.close()
    assert len(caplog.messages) == 1


async def test_a_stopped_server_accepts_nothing() -> None:
    async with serving(routes()) as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_server_that_never_started_stops_at_once() -> None:
    with listening_socket() as listening:
        await HttpServer(listening, routes()).stop()


async def test_proxy_headers_are_ignored() -> None:
    async def client(request: Request) -> Response:
        return PlainTextResponse(f"{request.client and request.client.host} {request.url.scheme}")

    async with serving([Route("/client", client)]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /client HTTP/1.0\r\nx-forwarded-for: 10.0.0.1\r\nx-forwarded-proto: https\r\n\r\n")
        assert (await reader.read()).endswith(b"127.0.0.1 http")
        writer.close()


async def test_a_unix_socket_is_served(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        server = HttpServer(listening, routes())
        await server.start()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"ok\n")
        reader, other = await asyncio.open_unix_connection(path)
        other.write(b"garbage\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()
        other.close()
        await server.stop()
    assert caplog.messages[0].startswith("closed the connection of the unix socket: ")
