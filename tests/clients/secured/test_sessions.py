"""Sessions that end: clients log in again on their connections (KIP-368), and the others are disconnected."""

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.clients.java_programs import JavaProgram
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
SESSION_MS = 1500
SECONDS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret";'
    settings = {
        "listener.security.protocol": "SASL_PLAINTEXT",
        "plain.sasl.jaas.config": jaas,
        "sasl.enabled.mechanisms": "PLAIN",
        "connections.max.reauth.ms": str(SESSION_MS),
    }
    server = Reassignd(tmp_path_factory.mktemp("sessions"), settings, 1)
    server.start()
    yield server
    assert server.stop() == 0


def logins(server: Reassignd) -> int:
    """Return the number of SaslAuthenticate requests so far."""
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    name = 'reassignd_requests_total{request="SaslAuthenticate"} '
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def test_the_java_client_logs_in_again_on_its_connections(
    server: Reassignd, java_login: JavaProgram, tmp_path: Path
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="admin" password="admin-secret";\n'
    )
    done = java_login.ask({"bootstrap": server.bootstrap, "config": str(config), "seconds": SECONDS})
    assert done["logins"] >= 2
    # One to the address of the configuration, and one to the broker.
    assert done["connections"] == 2


def test_librdkafka_logs_in_again_and_reports_no_error(server: Reassignd) -> None:
    said: list[str] = []
    user = {"sasl.username": "admin", "sasl.password": "admin-secret"}
    callback = {"error_cb": lambda error: said.append(str(error))}
    admin = AdminClient({"bootstrap.servers": server.bootstrap, **LOGIN, **user, **callback})
    before, end = logins(server), time.monotonic() + SECONDS
    while time.monotonic() < end:
        admin.list_topics(timeout=10)
        admin.poll(0.05)
    # Two connections log in; at least one of them does so again.
    assert logins(server) - before >= 3
    assert said == []


def test_a_client_that_does_not_log_in_again_is_disconnected(server: Reassignd) -> None:
    connection = RawConnection(server.bootstrap)
    connection.ask(SaslHandshakeRequest("PLAIN"), 1)
    answer = connection.ask(SaslAuthenticateRequest(b"\0admin\0admin-secret"), 2)
    assert answer.session_lifetime_ms == SESSION_MS
    connection.ask(MetadataRequest(()), 12)
    time.sleep(SESSION_MS / 1000 + 0.2)
    with pytest.raises(ConnectionError):
        connection.ask(MetadataRequest(()), 12)
    connection.close()
