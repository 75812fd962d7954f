"""Requests that a browser sends for another site."""

import asyncio
import socket
from collections.abc import Mapping

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from server.http.allowed_hosts import AllowedHosts, is_local
from server.http.refusals import refuse_other_sites
from server.http.server import HttpServer

LOOPBACK = AllowedHosts()
GOOD = [("host", "127.0.0.1:9080")]
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}

Pairs = list[tuple[str, str]]


async def status(
    headers: Pairs, path: str = "/v1/status", names: AllowedHosts | None = LOOPBACK, method: str = "GET"
) -> int:
    """Return the status of the answer to a request with exactly these headers."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await refuse_other_sites(PlainTextResponse("served"), names, {"/healthz"})(scope, receive, send)
    found: int = sent[0]["status"]
    return found


def with_headers(more: Mapping[str, str]) -> Pairs:
    return [*GOOD, *more.items()]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.8.8:1", "localhost:9080", "LocalHost", "[::1]", "[::1]:9080", "[0:0::1]:80"]
)
async def test_loopback_names_and_addresses_are_served(host: str) -> None:
    assert await status([("host", host)]) == 200


@pytest.mark.parametrize(
    "host",
    [
        "a{b.evil.example",
        "evil.example:9080",
        "",
        " ",
        "me@127.0.0.1",
        "127.0.0.1@evil.example",
        "127.0.0.1, evil.example",
        "127.0.0.1/x",
        "127.0.0.1#x",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:999999",
        "127.1",
        "2130706433",
        "0.0.0.0",  # noqa: S104 (a header)
        "10.0.0.1",
        "::1",
        "[::1",
        "[::1%25lo]",
        "[127.0.0.1]:x",
        "[evil.example]",
        "localhost.evil.example",
        "loc\xe4lhost",
        "localhost\n",
        "-",
    ],
)
async def test_any_other_host_is_refused_on_every_path_but_health(host: str) -> None:
    for path in ("/v1/status", "/", "/metrics", "/page.js", "/nothing"):
        assert await status([("host", host)], path) == 403
    assert await status([("host", host)], "/healthz") == 200


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
async def test_exactly_one_host_header_is_required(hosts: list[str]) -> None:
    assert await status([("host", host) for host in hosts]) == 403


async def test_names_can_be_allowed() -> None:
    names = AllowedHosts(["Ops.Example"])
    assert await status([("host", "ops.example:9080")], names=names) == 200
    assert await status([("host", "ops.example.evil")], names=names) == 403
    assert await status([("host", "10.0.0.1")], names=names) == 403


async def test_addresses_are_accepted_if_configured() -> None:
    names = AllowedHosts(addresses=True)
    for host, expected in (
        ("10.0.0.1:9080", 200),
        ("[2001:db8::1]", 200),
        ("evil.example", 403),
    ):
        assert await status([("host", host)], "/metrics", names) == expected


async def test_without_allowed_hosts_every_host_is_accepted() -> None:
    assert await status([("host", "anything{")], names=None) == 200
    assert await status([], names=None) == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "", "http://[bad", "http://127.0.0.1:1", "file://", "127.0.0.1:9080"],
)
async def test_a_page_of_another_site_is_refused(origin: str) -> None:
    assert await status(with_headers({"origin": origin}), method="POST") == 403


async def test_requests_of_the_own_page_are_served() -> None:
    own = {"origin": "http://127.0.0.1:9080", "sec-fetch-site": "same-origin"}
    assert await status(with_headers(own), method="POST") == 200
    assert await status(with_headers({"sec-fetch-site": "none"})) == 200


async def test_two_origins_of_which_one_is_another_site_are_refused() -> None:
    origins = [("origin", "http://127.0.0.1:9080"), ("origin", "http://evil.example")]
    assert await status([*GOOD, *origins]) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_requests_that_a_browser_sends_for_another_site_are_refused(site: str) -> None:
    for path in ("/v1/status", "/metrics", "/"):
        assert await status(with_headers({"sec-fetch-site": site}), path) == 403


async def test_a_link_leads_to_the_page_but_not_to_the_api() -> None:
    assert await status(with_headers(LINK), "/") == 200
    for path in ("/v1/status", "/kafkacruisecontrol/proposals"):
        assert await status(with_headers(LINK), path) == 403
    assert await status(with_headers(LINK), "/", method="POST") == 403
    assert await status(with_headers({**LINK, "sec-fetch-dest": "iframe"}), "/") == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["::", "10.0.0.1", "kafka.example", ""])
def test_other_hosts_are_not_local(host: str) -> None:
    assert not is_local(host)


async def status_of_target(target: str) -> str:
    """Return the status of a request for this target, on a server that knows every path below /v1."""

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
    assert await status_of_target(target) == "200"


@pytest.mark.parametrize(
    "target", ["%2Fv1%2F@127.0.0.2:80/x", "%2Fv1/status", "@h/v1/x", "*", "http://h/v1/x", "?/v1/x", "\\v1"]
)
async def test_a_target_that_is_no_path_is_refused(target: str) -> None:
    assert await status_of_target(target) == "400"


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
