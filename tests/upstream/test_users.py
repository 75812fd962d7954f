"""Principals: jobs have the principal of the client, and the gateway needs valid credentials and rights."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    NewTopic,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from reassignd import cli
from tests.clients.cluster import wait_for
from tests.server.security.tokens import unsecured
from tests.upstream.conftest import running
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.kafka_settings import TOKENS
from tools.ports import free_port, free_ports
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

SECONDS = 60
MOVER = "mover"
RIGHTS = {
    ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"): (
        *(ACLOperation.ALTER, ACLOperation.DESCRIBE),
        *(ACLOperation.ALTER_CONFIGS, ACLOperation.DESCRIBE_CONFIGS),
    ),
    ResourcePattern(ResourceType.TOPIC, "*"): (
        *(ACLOperation.DESCRIBE, ACLOperation.ALTER_CONFIGS, ACLOperation.DESCRIBE_CONFIGS),
    ),
}
"""The rights of the gateway's principal according to docs/gateway.md."""


def grant(kafka: KafkaCluster) -> None:
    """Create a user with exactly these rights."""
    acls = [
        ACL(f"User:{MOVER}", "*", operation, ACLPermissionType.ALLOW, resource)
        for resource, operations in RIGHTS.items()
        for operation in operations
    ]
    with admin_client(kafka.bootstrap) as direct:
        credentials = UserScramCredentialUpsertion(MOVER, ScramMechanism.SCRAM_SHA_256, f"{MOVER}-secret")
        direct.alter_user_scram_credentials([credentials])
        assert not direct.create_acls(acls)["failed"]


def move(gateway: Reassignd, moves: dict[TopicPartition, list[int]], mechanism: str) -> None:
    """Reassign partitions as the user `alter`."""
    client = KafkaAdminClient(
        bootstrap_servers=gateway.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="alter",
        sasl_plain_password="alter-secret",  # noqa: S106 (of a test cluster)
    )
    client.alter_partition_reassignments(moves)
    client.close()


def status(gateway: Reassignd) -> Any:
    with urllib.request.urlopen(f"http://{gateway.http}/v1/status", timeout=SECONDS) as answer:
        return json.load(answer)


def last_job(gateway: Reassignd) -> Any:
    with urllib.request.urlopen(f"http://{gateway.http}/v1/jobs?limit=1", timeout=SECONDS) as answer:
        return json.load(answer)["jobs"][0]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_a_job_has_the_principal_of_the_user(
    secured: KafkaCluster, secured_gateway: Reassignd, mechanism: str
) -> None:
    topic = f"moved-by-{mechanism}"
    with admin_client(secured.bootstrap) as direct:
        direct.create_topics([NewTopic(topic, replica_assignments={0: [1, 2]})])
    move(secured_gateway, {TopicPartition(topic, 0): [2, 1]}, mechanism)
    wait_for(lambda: last_job(secured_gateway)["state"], "ended")
    assert last_job(secured_gateway)["principal"] == "User:alter"


def test_a_login_with_a_token_of_another_and_then_its_own_has_its_own_name(
    secured: KafkaCluster, secured_gateway: Reassignd
) -> None:
    create(secured, "forged")
    now = int(time.time())
    expired = unsecured(sub="admin", iat=now - 100, exp=now - 50)
    own = unsecured(sub="alter", iat=now - 100, exp=now + 1000)
    connection = RawConnection(secured_gateway.bootstrap)
    connection.ask(SaslHandshakeRequest(TOKENS), 1)
    for token, answer in ((expired, b'{"status":"invalid_token"}'), (own, b"")):
        login = SaslAuthenticateRequest(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
        assert connection.ask(login, 2).auth_bytes == answer
    order = [ReassignableTopic("forged", [ReassignablePartition(0, (2,))])]
    assert (
        connection.ask(AlterPartitionReassignmentsRequest(timeout_ms=30_000, topics=order), 0).error_code == 0
    )
    connection.close()
    wait_for(lambda: last_job(secured_gateway)["state"], "ended")
    assert last_job(secured_gateway)["principal"] == "User:alter"


@pytest.fixture
def granted(secured: KafkaCluster, tmp_path: Path) -> Iterator[Reassignd]:
    """A gateway whose user has exactly the documented rights."""
    grant(secured)
    settings = {"upstream.command.config": str(secured.client_config("SASL_PLAINTEXT", MOVER))}
    yield from running(
        Reassignd(tmp_path, settings, len(secured.brokers), secured.addresses("SASL_PLAINTEXT"))
    )


def create(secured: KafkaCluster, topic: str) -> None:
    """Create a topic with a partition on broker 1."""
    with admin_client(secured.bootstrap) as direct:
        direct.create_topics([NewTopic(topic, replica_assignments={0: [1]})])


def test_the_documented_rights_are_sufficient(
    secured: KafkaCluster, granted: Reassignd, capfd: pytest.CaptureFixture[str]
) -> None:
    create(secured, "ours")
    assert cli.main(["limits", "throttle=1000000", "--url", f"http://{granted.http}"]) == 0
    move(granted, {TopicPartition("ours", 0): [2]}, "SCRAM-SHA-256")
    wait_for(lambda: last_job(granted)["state"], "ended")
    wait_for(lambda: status(granted)["throttle"]["leases"], 0)
    assert "WARN" not in capfd.readouterr().err


def test_without_rights_to_its_canary_pace_says_what_to_grant_and_the_plan_goes_on(
    secured: KafkaCluster, granted: Reassignd
) -> None:
    create(secured, "paced")
    assert cli.main(["limits", "pace=auto", "--url", f"http://{granted.http}"]) == 0
    wait_for(
        lambda: status(granted)["pace"]["problem"],
        "the canary topic __reassignd_canary is refused: grant CREATE and WRITE on it to the user of"
        " reassignd; pace follows round trips of requests",
    )
    move(granted, {TopicPartition("paced", 0): [2]}, "SCRAM-SHA-256")
    wait_for(lambda: last_job(granted)["state"], "ended")
    assert cli.main(["limits", "pace=off", "--url", f"http://{granted.http}"]) == 0


def test_refused_credentials_of_the_gateway_are_reported_in_one_line(
    secured: KafkaCluster, tmp_path: Path
) -> None:
    right = secured.client_config("SASL_PLAINTEXT", "admin").read_text()
    wrong = tmp_path / "wrong.properties"
    wrong.touch(0o600)
    wrong.write_text(right.replace("admin-secret", "guessed"))
    listeners = ("--listener", f"127.0.0.1:{free_ports(3)}", "--http", f"127.0.0.1:{free_port()}")
    options = (*listeners, "--data-dir", tmp_path)
    upstream = ("--bootstrap-server", secured.address(1, "SASL_PLAINTEXT"), "--command-config", wrong)
    serve = [sys.executable, "-m", "reassignd", "serve", "--backend", "upstream"]
    ran = subprocess.run(
        [*serve, *upstream, *options], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ran.returncode == 1
    # A log line can precede it: the number of connections that the limit of open files allows.
    (line,) = [line for line in ran.stderr.splitlines() if not line.startswith("[")]
    assert line.startswith("reassignd: ")
    assert " refused admin by SCRAM-SHA-256: Authentication failed" in line
