"""Clients of five languages log in by each mechanism and by certificate, and learn of refusals."""

from collections.abc import Mapping

import pytest

from tests.clients.java_programs import JavaProgram
from tests.clients.secured.logins import LOGINS, WRONG, Client, attempt
from tests.clients.secured.servers import MECHANISMS, SASL, TLS, TOPIC, SecuredServer

Servers = Mapping[str, SecuredServer]
ALL = pytest.mark.parametrize(
    ("client", "protocol", "mechanism"), LOGINS, ids=lambda part: getattr(part, "name", part)
)
PASSWORDS = [login for login in LOGINS if login[1] == SASL]


def available(client: Client) -> None:
    if not client.needs():
        pytest.skip(f"{client.name} is left out: `python -m tools.other_clients` tells why")


@ALL
def test_a_super_user_sees_all_topics_and_others_none(
    servers: Servers, client: Client, protocol: str, mechanism: str
) -> None:
    available(client)
    seen = [client.log_in(attempt(servers[protocol], mechanism, user)) for user in ("admin", "alice")]
    assert [line.rstrip() for line in seen] == [f"topics {TOPIC}", "topics"]


@pytest.mark.parametrize(
    ("client", "protocol", "mechanism"), PASSWORDS, ids=lambda part: getattr(part, "name", part)
)
def test_wrong_credentials_are_refused(
    servers: Servers, client: Client, protocol: str, mechanism: str
) -> None:
    available(client)
    line = client.log_in(attempt(servers[protocol], mechanism, "admin", wrong=True))
    assert line.startswith("refused ")
    assert WRONG not in line


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_java_client_logs_in(servers: Servers, java_login: JavaProgram, mechanism: str) -> None:
    server = servers[SASL]
    config = {"bootstrap": server.bootstrap, "config": str(server.properties("admin", mechanism))}
    assert java_login.ask(config) == {"topics": [TOPIC]}


def test_the_java_client_logs_in_by_certificate(servers: Servers, java_login: JavaProgram) -> None:
    server = servers[TLS]
    for user, topics in (("admin", [TOPIC]), ("alice", [])):
        config = {"bootstrap": server.bootstrap, "config": str(server.properties(user))}
        assert java_login.ask(config) == {"topics": topics}


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("PLAIN", "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-512",
            (
                "Authentication failed during authentication due to invalid credentials with SASL mechanism"
                " SCRAM-SHA-512"
            ),
        ),
    ],
)
def test_the_java_client_shows_kafka_s_message(
    servers: Servers, java_login: JavaProgram, mechanism: str, message: str
) -> None:
    server = servers[SASL]
    path = server.properties("admin", mechanism, WRONG)
    answer = java_login.ask({"bootstrap": server.bootstrap, "config": str(path)})
    assert answer == {"error": "SaslAuthenticationException", "message": message}
