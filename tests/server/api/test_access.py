"""Who may use the API."""

import pytest

from server.api.access import Access, is_local
from tests.server.api.desk import Desk

OUTSIDE = "http://10.0.0.1:9080"
TOKEN = Access("s3cret", local=False)


async def test_whoever_is_local_may() -> None:
    for url in ("http://127.0.0.1:9080", "http://localhost:9080", "http://[::1]:9080"):
        assert (await Desk(url=url).ask("GET", "/v1/status"))[0] == 200


async def test_a_name_that_only_resolves_to_this_machine_may_not() -> None:
    status, text = await Desk(url="http://evil.example:9080").refusal("GET", "/v1/status")
    assert (status, text) == (403, "not allowed for the host 'evil.example': use 127.0.0.1 or localhost")


async def test_a_unix_socket_has_no_host_to_check() -> None:
    desk = Desk(access=Access(local=False), url="http://anything")
    assert (await desk.ask("GET", "/v1/status"))[0] == 200


async def test_a_page_of_another_site_may_not() -> None:
    status, text = await Desk().refusal("POST", "/v1/pause", headers={"origin": "https://evil.example"})
    assert (status, text) == (403, "not allowed from a page of https://evil.example")
    assert (await Desk().ask("POST", "/v1/pause", headers={"origin": "http://127.0.0.1:9080"}))[0] == 200


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic s3cret", "s3cret", "Bearer", "Bearer s3cré"])
async def test_without_the_token_nobody_may(header: str | None) -> None:
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    response = await Desk(access=TOKEN, url=OUTSIDE).raw("GET", "/v1/status", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json() == {
        "error": "not allowed: show the token of http.token.file (authorization: Bearer ...)"
    }


async def test_with_the_token_one_may() -> None:
    desk = Desk(access=TOKEN, url=OUTSIDE)
    status, _ = await desk.ask("GET", "/v1/status", headers={"authorization": "bearer s3cret"})
    assert status == 200


async def test_health_and_metrics_stay_open() -> None:
    desk = Desk(access=TOKEN, url=OUTSIDE)
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await desk.raw("GET", path)).status_code == 200


async def test_where_certificates_are_asked_for_one_without_may_not() -> None:
    desk = Desk(access=Access(certificates=True, local=False), url=OUTSIDE)
    assert await desk.refusal("GET", "/v1/status") == (401, "not allowed: show a client certificate")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["::", "10.0.0.1", "kafka.example"])
def test_anything_else_is_not(host: str) -> None:
    assert not is_local(host)
