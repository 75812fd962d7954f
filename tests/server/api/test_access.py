"""Authentication for the API."""

import pytest
from starlette.requests import Request

from server.api.access import Access
from server.api.shared.errors import HttpError
from server.api.shared.roles import Grants, Identity, Role
from server.http.connection import KEY
from tests.server.api.api_client import ApiClient
from tests.server.security.certificates import certificate


class Connection:
    """A connection of a local user, or with a client certificate."""

    def __init__(self, user: int | None = None, certificate: bytes | None = None) -> None:
        self._user, self.certificate = user, certificate

    def user(self) -> int | None:
        return self._user


OUTSIDE = "http://10.0.0.1:9080"
ANN, BOB = Identity("User:ann", Role.OPERATOR), Identity("User:bob", Role.VIEWER)
TOKEN = Access(lambda: Grants([(b"s3cret", ANN), (b"look", BOB)]))
BOB_S = Connection(certificate=certificate("CN=bob"))


def request(connection: Connection) -> Request:
    return Request({"type": "http", "headers": [], "state": {KEY: connection}})


def test_the_principal_of_a_local_user_is_the_login_name() -> None:
    assert Access().identity(request(Connection(0))) == Identity("Local:root", Role.OPERATOR)
    assert Access().identity(request(Connection(4_000_000))).principal == "Local:4000000"
    assert Access().identity(request(Connection())).principal == "Local:unknown"


async def test_without_credentials_every_client_is_permitted() -> None:
    assert (await ApiClient().ask("GET", "/v1/status"))[0] == 200


def test_a_listed_user_is_permitted() -> None:
    assert Access(users={1000, 0}).identity(request(Connection(1000))).role is Role.OPERATOR


@pytest.mark.parametrize(("user", "who"), [(1001, "user 1001"), (None, "an unknown user")])
def test_other_users_are_refused(user: int | None, who: str) -> None:
    with pytest.raises(
        HttpError, match=f"^not allowed for {who} of this machine: .*use sudo.* set http.access.file$"
    ) as caught:
        Access(users={1000, 0}).identity(request(Connection(user)))
    assert caught.value.status == 403


def test_the_principal_is_the_certificate_s_subject() -> None:
    identity = Access(certificates=True).identity(request(BOB_S))
    assert identity == Identity("User:CN=bob", Role.OPERATOR)


def test_listed_certificates_have_names_and_roles() -> None:
    access = Access(lambda: Grants(certificates={"CN=bob": BOB}), certificates=True)
    assert access.identity(request(BOB_S)) == BOB


def test_a_certificate_that_is_not_listed_is_refused() -> None:
    access = Access(lambda: Grants(certificates={"CN=ann": ANN}), certificates=True)
    with pytest.raises(
        HttpError, match=r"http\.access\.file has no line for the certificate CN=bob$"
    ) as caught:
        access.identity(request(BOB_S))
    assert caught.value.status == 403


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic s3cret", "s3cret", "Bearer", "Bearer s3cré"])
async def test_a_request_without_the_token_is_refused(header: str | None) -> None:
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    response = await ApiClient(access=TOKEN, url=OUTSIDE).raw("GET", "/v1/status", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    shown = "not allowed: show a token (authorization: Bearer ..., or --token-file of the commands)"
    assert response.json() == {"error": shown}


async def test_a_request_with_the_token_is_permitted() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    status, _ = await client.ask("GET", "/v1/status", headers={"authorization": "bearer s3cret"})
    assert status == 200


async def test_a_refusal_names_the_missing_role() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    headers = {"authorization": "Bearer look"}
    assert (await client.ask("GET", "/v1/status", headers=headers))[0] == 200
    assert await client.refusal("POST", "/v1/pause", headers=headers) == (
        403,
        "not allowed for User:bob, which has the role viewer: POST /v1/pause needs the role operator",
    )


@pytest.mark.parametrize("path", ["/v1/plans/review", "/v1/limits/preview", "/v1/schedule/preview"])
async def test_a_viewer_may_compute_what_a_change_would_do(path: str) -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    status, _ = await client.ask("POST", path, {}, headers={"authorization": "Bearer look"})
    assert status not in (401, 403)


async def test_grants_that_change_apply_to_the_next_request() -> None:
    grants = [Grants([(b"old", ANN)])]
    client = ApiClient(access=Access(lambda: grants[-1]), url=OUTSIDE)
    grants.append(Grants([(b"new", ANN)]))
    assert (await client.refusal("GET", "/v1/status", headers={"authorization": "Bearer old"}))[0] == 401
    assert (await client.ask("GET", "/v1/status", headers={"authorization": "Bearer new"}))[0] == 200


async def test_whoami_returns_principal_and_role() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    asked = await client.ask("GET", "/v1/whoami", headers={"authorization": "Bearer look"})
    assert asked == (200, {"principal": "User:bob", "role": "viewer"})


async def test_health_and_metrics_need_no_token() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await client.raw("GET", path)).status_code == 200


async def test_a_client_without_a_required_certificate_is_refused() -> None:
    client = ApiClient(access=Access(certificates=True), url=OUTSIDE)
    assert await client.refusal("GET", "/v1/status") == (401, "not allowed: show a client certificate")


@pytest.mark.parametrize(
    ("access", "users", "names", "any_certificate"),
    [
        (Access(), "all users of this machine", [], False),
        (Access(users={0}), "of this machine: root", [], False),
        (
            TOKEN,
            "",
            [("User:ann", "operator", "token"), ("User:bob", "viewer", "token")],
            False,
        ),
        (Access(certificates=True), "", [], True),
        (
            Access(lambda: Grants(certificates={"CN=bob": BOB}), certificates=True),
            "",
            [("User:bob", "viewer", "certificate")],
            False,
        ),
    ],
)
async def test_who_may_use_the_api_is_listed_without_secrets(
    access: Access, users: str, names: list[tuple[str, str, str]], any_certificate: bool
) -> None:
    client = ApiClient()
    client.api.granted = access.granted
    answer = await client.get("/v1/access")
    assert answer["users"] == users
    assert [(each["principal"], each["role"], each["shows"]) for each in answer["names"]] == names
    assert (answer["more"], answer["any_certificate"]) == (0, any_certificate)


async def test_a_viewer_may_read_who_may_use_the_api() -> None:
    client = ApiClient(access=TOKEN, url=OUTSIDE)
    answer = await client.get("/v1/access", headers={"authorization": "Bearer look"})
    assert len(answer["names"]) == 2
    assert "look" not in str(answer)
