"""Clients log in with tokens whose signatures are checked with the keys of a URL (JWKS)."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.clients.java_programs import JavaProgram
from tests.clients.secured.logins import CLIENTS, Attempt, Client
from tests.clients.secured.servers import SASL, TOKENS, TOPIC, SecuredServer, running
from tests.server.security.tokens import jwks, signed

AUDIENCE = "kafka"
REFUSED = {"error": "SaslAuthenticationException", "message": '{"status":"invalid_token"}'}


class KeysPage(BaseHTTPRequestHandler):
    """The document with the public key `one`."""

    def do_GET(self) -> None:
        document = jwks("one").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(document)))
        self.end_headers()
        self.wfile.write(document)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Print nothing."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredServer]:
    pytest.importorskip("jwt", reason="the extra oauth is not installed")
    keys = ThreadingHTTPServer(("127.0.0.1", 0), KeysPage)
    threading.Thread(target=keys.serve_forever, daemon=True).start()
    more = {
        "sasl.oauthbearer.jwks.endpoint.url": f"http://127.0.0.1:{keys.server_port}/keys",
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    with running(SASL, tmp_path_factory.mktemp("tokens"), more) as server:
        yield server
    keys.shutdown()
    keys.server_close()


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"sub": "admin", "aud": AUDIENCE, "iat": now - 120, "exp": now + 600} | changed


@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if TOKENS in each.mechanisms], ids=lambda each: each.name
)
def test_each_client_logs_in_with_a_signed_token(server: SecuredServer, client: Client) -> None:
    if not client.needs():
        pytest.skip(f"{client.name} is left out: `python -m tools.other_clients` tells why")
    assert client.log_in(Attempt(server, TOKENS, "admin", signed(**claims()))) == f"topics {TOPIC}"


def java(login: JavaProgram, server: SecuredServer, token: str) -> dict[str, Any]:
    config = str(server.token_properties(token))
    return login.ask({"bootstrap": server.bootstrap, "config": config})


def test_the_java_client_logs_in_with_a_token_of_a_file(
    server: SecuredServer, java_login: JavaProgram
) -> None:
    assert java(java_login, server, signed(**claims())) == {"topics": [TOPIC]}
    assert java(java_login, server, signed(**claims(sub="alice"))) == {"topics": []}


BAD_TOKENS = {
    "expired": lambda: signed(**claims(exp=int(time.time()) - 60)),
    "for another audience": lambda: signed(**claims(aud="other")),
    "without audience": lambda: signed(**claims(aud=None)),
    "signed with another key": lambda: signed("other", **claims()),
    "with an unknown key id": lambda: signed(kid="two", **claims()),
}


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_the_java_client_is_refused_with_a_token(
    server: SecuredServer, java_login: JavaProgram, name: str
) -> None:
    assert java(java_login, server, BAD_TOKENS[name]()) == REFUSED
