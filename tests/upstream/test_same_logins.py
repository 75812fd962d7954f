"""The embedded cluster answers each step of a login as Kafka 4.3 does, byte for byte where clients look."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.server.security.tokens import unsecured
from tests.upstream.conftest import bootstrap
from tools.broker_api_versions import listed, recorded
from tools.kafka_cluster import KafkaCluster
from tools.kafka_settings import MECHANISMS, PRINCIPALS, TOKENS
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

CLOSED = "closed"

Answer = tuple[object, ...]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """An embedded cluster with the users and mechanisms of `secured`."""
    folder = tmp_path_factory.mktemp("embedded")
    users = folder / "users"
    users.write_text("".join(f"{name} {name}-secret\n" for name in PRINCIPALS))
    users.chmod(0o600)
    overrides = {
        "listener.security.protocol": "SASL_PLAINTEXT",
        "sasl.users.file": str(users),
        "sasl.enabled.mechanisms": ",".join((*MECHANISMS, TOKENS)),
    }
    server = Reassignd(folder / "data", overrides, 1)
    server.start()
    yield server
    server.stop()


class Login(NamedTuple):
    """A login: the mechanism, and the client's tokens."""

    mechanism: str
    tokens: Sequence[bytes]


def bearer(value: str, authorized: str = "") -> bytes:
    return f"n,{authorized},\x01auth=Bearer {value}\x01\x01".encode()


def token(**claims: object) -> str:
    now = int(time.time())
    return unsecured(**({"sub": "admin", "iat": now - 100, "exp": now + 1000} | claims))


EXPIRED = token(exp=int(time.time()) - 50)

LOGINS = {
    "a right password": Login("PLAIN", [b"\0admin\0admin-secret"]),
    "a wrong password": Login("PLAIN", [b"\0admin\0wrong"]),
    "an unknown user": Login("PLAIN", [b"\0nobody\0wrong"]),
    "another authorization id": Login("PLAIN", [b"alter\0admin\0admin-secret"]),
    "two parts": Login("PLAIN", [b"admin\0admin-secret"]),
    "four parts": Login("PLAIN", [b"\0admin\0admin-secret\0"]),
    "six parts": Login("PLAIN", [b"\0admin\0admin-secret\0\0\0"]),
    "no user": Login("PLAIN", [b"\0\0admin-secret"]),
    "no password": Login("PLAIN", [b"\0admin\0"]),
    "no text": Login("PLAIN", [b"\xff\xfe"]),
    "no SCRAM": Login("SCRAM-SHA-256", [b"hello"]),
    "an unknown SCRAM user": Login("SCRAM-SHA-512", [b"n,,n=nobody,r=abc"]),
    "channel binding": Login("SCRAM-SHA-256", [b"y,,n=admin,r=abc"]),
    "a delegation token": Login("SCRAM-SHA-256", [b"n,,n=admin,r=abc,tokenauth=true"]),
    "another SCRAM authorization id": Login("SCRAM-SHA-256", [b"n,a=alter,n=admin,r=abc"]),
    "an expired token": Login(TOKENS, [bearer(EXPIRED), b"\x01"]),
    "no confirmation": Login(TOKENS, [bearer(EXPIRED), b"x"]),
    "a token without subject": Login(TOKENS, [bearer(token(sub=None)), b"\x01"]),
    "another bearer": Login(TOKENS, [bearer(token(), "a=alter")]),
    "no bearer": Login(TOKENS, [b"n,,\x01\x01"]),
    "a right token after a wrong one": Login(TOKENS, [bearer(EXPIRED), bearer(token(sub="alter"))]),
    "two bearers": Login(TOKENS, [bearer(EXPIRED)[:-1] + bearer(token())[4:]]),
    "an opaque bearer": Login(TOKENS, [bearer("a+b/c~="), b"\x01"]),
    "an extension in upper case": Login("SCRAM-SHA-256", [b"n,,n=nobody,r=abc,TOKENAUTH=TRUE"]),
    "no OAUTHBEARER": Login(TOKENS, [b"hello"]),
    "an unknown mechanism": Login("GSSAPI", [b"hello"]),
}


def talk(server: str, login: Login) -> list[Answer | str]:
    """Return the answers to versions, handshake and tokens; CLOSED where the connection has ended."""
    connection = RawConnection(server)
    answers: list[Answer | str] = []
    try:
        connection.ask(ApiVersionsRequest("test", "1"), 3)
        offered = connection.ask(SaslHandshakeRequest(login.mechanism), 1)
        answers.append((offered.error_code, sorted(offered.mechanisms)))
        for each in login.tokens:
            told = connection.ask(SaslAuthenticateRequest(each), 2)
            answers.append((told.error_code, told.error_message, told.auth_bytes))
        connection.ask(MetadataRequest(()), 12)
    except (ConnectionError, TimeoutError):
        answers.append(CLOSED)
    finally:
        connection.close()
    return answers


def sasl(kafka: KafkaCluster) -> str:
    return str(bootstrap(kafka, "SASL_PLAINTEXT"))


@pytest.mark.parametrize("name", LOGINS)
def test_each_step_of_a_login_is_answered_as_by_kafka(
    secured: KafkaCluster, embedded: Reassignd, name: str
) -> None:
    assert talk(embedded.bootstrap, LOGINS[name]) == talk(sasl(secured), LOGINS[name])


def ends(server: str, *steps: str) -> bool:
    """Return whether the connection has ended after the last of these requests."""
    requests: dict[str, tuple[Any, int]] = {
        "versions": (ApiVersionsRequest("test", "1"), 3),
        "handshake": (SaslHandshakeRequest("PLAIN"), 1),
        "token": (SaslAuthenticateRequest(b"\0admin\0admin-secret"), 2),
        "metadata": (MetadataRequest(()), 12),
    }
    connection = RawConnection(server)
    try:
        for step in steps:
            request, version = requests[step]
            connection.ask(request, version)
        connection.ask(MetadataRequest(()), 12)
    except ConnectionError:
        return True
    finally:
        connection.close()
    return False


@pytest.mark.parametrize(
    "steps",
    [
        ("metadata",),
        ("versions", "versions"),
        ("token",),
        ("handshake", "metadata"),
        ("handshake", "handshake"),
        ("handshake", "token"),
        ("handshake", "token", "versions"),
        ("handshake", "token", "handshake"),
        ("handshake", "token", "token"),
    ],
    ids="-".join,
)
def test_a_step_out_of_turn_ends_the_connection_as_with_kafka(
    secured: KafkaCluster, embedded: Reassignd, steps: Sequence[str]
) -> None:
    assert ends(embedded.bootstrap, *steps) == ends(sasl(secured), *steps)


def test_the_recorded_versions_of_kafka_are_those_that_it_lists(
    kafka: KafkaCluster, secured: KafkaCluster, tmp_path: Path
) -> None:
    assert recorded() == {"4.1": listed(kafka.bootstrap), "4.3": listed(str(bootstrap(secured)))}
