"""`/v1` at a standby, in front of an active instance on a real socket."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from common.tls import pinned_client_context, server_context
from server.api import proxy as module
from server.api.access import Access
from server.api.other_instances import HEADER, VALID_MS, IdentitySigner
from server.api.proxy import ActiveProxy
from server.api.shared.errors import HttpError
from server.api.shared.roles import Grants, Identity, Role
from server.events import hub as hubs
from server.events.hub import EventHub
from server.http.allowed_hosts import AllowedHosts
from server.http.server import HttpServer
from tests.server.api.api_client import ApiClient

ANN = Identity("User:ann", Role.OPERATOR)
SIGNER = IdentitySigner("standby", b"the secret of all instances", lambda: 1_000_000)
CERTIFICATE = Path(__file__).parents[2] / "reassignd" / "tls" / "server.pem"
TOKEN = {"authorization": "Bearer s3cret"}


class FakeActive:
    """Implements `ActiveUrl`."""

    def __init__(self, url: str | None = None, *, here: bool = False) -> None:
        self.url, self.here, self.turned = url, here, asyncio.Event()

    async def may_answer(self) -> bool:
        return self.here


class Upstream:
    """The HTTP API of the active instance: what it was asked, and its answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[Identity | None, dict[str, str], bytes]] = []
        self.reader = ActiveProxy(FakeActive(), SIGNER)
        self.go_on = asyncio.Event()

    async def echo(self, request: Request) -> Response:
        client = self.reader.client_of(request)
        self.asked.append((client, dict(request.headers), await request.body()))
        return PlainTextResponse(f"{request.method} {request.url.path}?{request.url.query}", 201)

    async def slow(self, request: Request) -> Response:
        self.asked.append((None, {}, b""))
        await self.go_on.wait()
        return PlainTextResponse("late")

    async def events(self, request: Request) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            yield b"one\n"
            await self.go_on.wait()
            yield b"two\n"

        return StreamingResponse(lines())


@asynccontextmanager
async def standby(
    upstream: Upstream | None = None, tls: Callable[[], ssl.SSLContext] | None = None
) -> AsyncIterator[tuple[ApiClient, FakeActive]]:
    """A standby whose active instance serves on a socket, with TLS if the standby uses it."""
    active = FakeActive()
    proxy = ActiveProxy(active, SIGNER, tls)
    client = ApiClient(access=Access(lambda: Grants([(b"s3cret", ANN)])))
    client.api.others, client.api.services = proxy, None
    server = None
    if upstream is not None:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setblocking(False)
        active.url = f"{'https' if tls else 'http'}://127.0.0.1:{listening.getsockname()[1]}"
        routes = [
            Route("/v1/slow", upstream.slow),
            Route("/v1/events", upstream.events),
            Route("/v1/{rest:path}", upstream.echo, methods=["GET", "POST"]),
        ]
        served = server_context(CERTIFICATE, None) if tls else None
        server = HttpServer(listening, routes, served, allowed_hosts=AllowedHosts())
        await server.start()
    try:
        yield client, active
    finally:
        await proxy.close()
        if server is not None:
            await server.stop()


async def test_each_request_trusts_the_certificate_of_that_time() -> None:
    context = pinned_client_context(CERTIFICATE.with_name("eve.pem"))
    trusted = iter([None, None, CERTIFICATE])  # At the start, and for both requests.

    def pinned() -> ssl.SSLContext:
        if renewed := next(trusted):
            context.load_verify_locations(renewed)
        return context

    async with standby(Upstream(), pinned) as (client, _):
        refused = await client.raw("GET", "/v1/jobs", headers=TOKEN)
        answer = await client.raw("GET", "/v1/jobs", headers=TOKEN)
    assert (refused.status_code, answer.status_code) == (503, 201)
    assert "certificate verify failed" in refused.text


async def test_a_request_is_passed_on_with_its_client() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, _):
        answer = await client.raw("POST", "/v1/jobs/a%2Fb?x=1", content=b"body", headers=TOKEN)
    assert (answer.status_code, answer.text) == (201, "POST /v1/jobs/a/b?x=1")
    ((who, headers, body),) = upstream.asked
    assert (who, body) == (ANN._replace(via="standby"), b"body")
    assert "authorization" not in headers


async def test_the_standby_authenticates_the_client() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, _):
        assert (await client.raw("GET", "/v1/jobs")).status_code == 401
        forged = {HEADER: SIGNER.sign(ANN, "POST", "/v1/jobs")}
        assert (await client.raw("GET", "/v1/jobs", headers=forged)).status_code == 403
    assert upstream.asked == []


async def test_headers_of_a_browser_about_the_site_stay_here() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, _):
        site = {"origin": "http://gate:9080", "sec-fetch-site": "same-origin", "user-agent": "page"}
        assert (await client.raw("GET", "/v1/jobs", headers=TOKEN | site)).status_code == 201
    ((_, headers, _),) = upstream.asked
    assert "origin" not in headers
    assert headers["user-agent"] == "page"


async def test_a_request_is_not_passed_on_twice() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, _):
        signed = {HEADER: SIGNER.sign(ANN, "GET", "/v1/jobs")}
        answer = await client.raw("GET", "/v1/jobs", headers=signed)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert upstream.asked == []


@pytest.mark.parametrize("path", ["@other:1/x", ":1/x", ".other/x", "%2F@other/x", "/v1#x"])
async def test_no_target_leads_to_another_host(path: str) -> None:
    async with standby(Upstream()) as (client, _):
        with pytest.raises(HttpError, match="the target of the request is not valid"):
            await proxied(client, path)


async def test_the_url_of_the_active_instance_may_have_a_path() -> None:
    async with standby(Upstream()) as (client, active):
        active.url = f"{active.url}/one"
        answer = await client.raw("GET", "/v1/jobs?x=1", headers=TOKEN)
    assert answer.json() == {"error": "there is no /one/v1/jobs"}


async def test_while_nobody_is_active_clients_are_told_to_try_again() -> None:
    async with standby() as (client, _):
        answer = await client.raw("GET", "/v1/jobs", headers=TOKEN)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "no instance of reassignd is active" in answer.text


async def test_an_active_instance_without_a_url_is_named() -> None:
    async with standby() as (client, active):
        active.url = ""
        answer = await client.raw("GET", "/v1/jobs", headers=TOKEN)
    assert answer.status_code == 503
    assert "set its gateway.peer.url" in answer.text


async def test_an_active_instance_that_cannot_be_reached_is_named() -> None:
    async with standby() as (client, active):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            active.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        answer = await client.raw("GET", "/v1/jobs", headers=TOKEN)
    assert answer.status_code == 503
    assert f"the active instance at {active.url} cannot be reached" in answer.text


async def test_a_stream_is_passed_on_as_it_comes_and_ends_with_the_term() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, active):
        passed = await proxied(client, "/v1/events")
        assert await anext(passed) == b"one\n"
        upstream.go_on.set()
        assert await anext(passed) == b"two\n"
        await passed.aclose()
        upstream.go_on.clear()
        passed = await proxied(client, "/v1/events")
        assert await anext(passed) == b"one\n"
        active.turned.set()
        assert [part async for part in passed] == []
        upstream.go_on.set()


async def test_a_stream_ends_when_its_client_is_not_permitted_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0)
    refusals = iter(["", "the token was revoked"])
    upstream = Upstream()
    async with standby(upstream) as (client, _):
        passed = await proxied(client, "/v1/events", lambda: next(refusals))
        assert await anext(passed) == b"one\n"
        upstream.go_on.set()
        assert [part async for part in passed] == []


async def test_a_stream_that_is_passed_on_outlives_its_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_SECONDS", 0.01)
    client = ApiClient()
    assert client.api.services is not None
    hub = EventHub(client.controller.state, lambda: "cluster-1")
    client.api.services = replace(client.api.services, events=hub)
    client.api.others = proxy = ActiveProxy(FakeActive(here=True), SIGNER)
    signed = {HEADER: SIGNER.sign(ANN, "GET", "/v1/events")}
    asked = asyncio.create_task(client.raw("GET", "/v1/events", headers=signed))
    while not hub.readers:
        await asyncio.sleep(0.01)
    monkeypatch.setattr(SIGNER, "_clock", lambda: 1_000_000 + 2 * VALID_MS)
    await asyncio.sleep(0.05)
    assert hub.readers
    hub.stop()
    assert (await asked).status_code == 200
    await proxy.close()


async def test_a_request_without_an_answer_when_the_term_ends_is_in_doubt() -> None:
    upstream = Upstream()
    async with standby(upstream) as (client, active):
        asked = asyncio.create_task(client.raw("GET", "/v1/slow", headers=TOKEN))
        while not upstream.asked:
            await asyncio.sleep(0.01)
        active.turned.set()
        answer = await asked
        upstream.go_on.set()
    assert answer.status_code == 502
    assert "may have been executed" in answer.text


@pytest.mark.parametrize(("here", "status"), [(True, 200), (False, 503)])
async def test_an_answer_of_this_instance_needs_its_lease(here: bool, status: int) -> None:
    client = ApiClient()
    proxy = ActiveProxy(FakeActive(here=here), SIGNER)
    client.api.others = proxy
    assert (await client.raw("GET", "/v1/status")).status_code == status
    await proxy.close()


async def proxied(client: ApiClient, path: str, refusal: Callable[[], str] = str) -> Any:
    """Return the parts of a proxied stream; the client of other tests reads whole answers."""
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [], "state": {},
    }  # fmt: skip
    others = client.api.others
    assert others is not None
    answer = await others.answer(Request(scope), ANN, refusal)
    assert isinstance(answer, StreamingResponse)
    return answer.body_iterator


SIGNED_ANN = Identity("User:CN=Änn,O=Example", Role.VIEWER)
VIA = SIGNED_ANN._replace(via="standby")
SECRET = b"the secret of all instances"


class At:
    """A clock."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_the_client_arrives_as_it_was_authenticated() -> None:
    signed = IdentitySigner("standby", SECRET, At()).sign(SIGNED_ANN, "GET", "/v1/jobs?all=true")
    assert signed.isascii()
    assert IdentitySigner("active", SECRET, At()).verify(signed, "GET", "/v1/jobs?all=true") == VIA


@pytest.mark.parametrize(
    ("method", "target", "secret"),
    [
        ("POST", "/v1/jobs", SECRET),
        ("GET", "/v1/pause", SECRET),
        ("GET", "/v1/jobs", b"another secret of instances"),
    ],
)
def test_a_signature_is_worth_nothing_for_another_request_or_secret(
    method: str, target: str, secret: bytes
) -> None:
    signed = IdentitySigner("standby", SECRET, At()).sign(SIGNED_ANN, "GET", "/v1/jobs")
    with pytest.raises(HttpError, match="was not signed with the secret of this instance") as refused:
        IdentitySigner("active", secret, At()).verify(signed, method, target)
    assert refused.value.status == 403


@pytest.mark.parametrize("value", ["", ".", "x", "é", "eyJ9.00", "a" * 5000])
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(HttpError, match="was not signed"):
        IdentitySigner("active", SECRET, At()).verify(value, "GET", "/v1/jobs")


def test_an_old_signature_is_refused() -> None:
    clock = At()
    signer = IdentitySigner("standby", SECRET, clock)
    signed = signer.sign(SIGNED_ANN, "GET", "/v1/jobs")
    clock.now += VALID_MS
    assert signer.verify(signed, "GET", "/v1/jobs") == VIA
    clock.now += 1
    with pytest.raises(
        HttpError, match=f"the clocks of this instance and standby differ by {VALID_MS + 1} ms"
    ):
        signer.verify(signed, "GET", "/v1/jobs")
