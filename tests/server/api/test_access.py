"""Authentication for the API."""

import pytest
from starlette.requests import Request

from server.api.access import Access
from server.api.errors import HttpError
from server.http.connection import KEY
from tests.server.api.api_client import ApiClient

OUTSIDE = "http://10.0.0.1:9080"
TOKEN = Access("s3cret")


class Connection:
    """A connection of a local user, or with a client certificate."""

    def __init__(self, user: int | None = None, certificate: dict[str, object] | None = None) -> None:
        self._user, self.certificate = user, certificate

    def user(self) -> int | None:
        return self._user


def request(connection: Connection) -> Request:
    return Request({"type": "http", "headers": [], "state": {KEY: connection}})


async def test_without_credentials_every_client_is_permitted() -> None:
    assert (await ApiClient().ask("GET", "/v1/status"))[0] == 200


def test_a_listed_user_is_permitted() -> None:
    assert Access(users={1000, 0}).principal(request(Connection(1000))) == "User:local"


@pytest.mark.parametrize(("user", "who"), [(1001, "user 1001"), (None, "an unknown user")])
def test_other_users_are_refused(user: int | None, who: str) -> None:
    with pytest.raises(
        HttpError, match=f"^not allowed for {who} of this machine: .* set http.token.file$"
    ) as caught:
        Access(users={1000, 0}).principal(request(Connection(user)))
    assert caught.value.status == 403


def test_the_principal_is_the_certificate_s_subject() -> None:
    shown = Connection(certificate={"subject": ((("commonName", "ann"),),)})
    assert Access(certificates=True).principal(request(shown)) == "User:CN=ann"


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic s3cret", "s3cret", "Bearer", "Bearer s3cré"])
async def test_a_request_without_the_token_is_refused(header: str | None) -> None:
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    response = await ApiClient(access=TOKEN, url=OUTSIDE).raw("GET", "/v1/status", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json() == {
        "error": "not allowed: show the token of http.token.file (authorization: Bearer ...)"
    }


async def test_a_request_with_the_token_is_permitted() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    status, _ = await client.ask("GET", "/v1/status", headers={"authorization": "bearer s3cret"})
    assert status == 200


async def test_health_and_metrics_need_no_token() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await client.raw("GET", path)).status_code == 200


async def test_a_client_without_a_required_certificate_is_refused() -> None:
    client = ApiClient(access=Access(certificates=True), url=OUTSIDE)
    assert await client.refusal("GET", "/v1/status") == (401, "not allowed: show a client certificate")
