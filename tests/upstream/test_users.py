"""Principals: jobs have the principal of the client, and the gateway needs valid credentials and rights."""

import json
import subprocess
import sys
import urllib.request
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

from reassignd import cli
from tests.clients.cluster import wait_for
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.processes import Reassignd, free_ports

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


def test_the_documented_rights_are_sufficient(
    secured: KafkaCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    grant(secured)
    with admin_client(secured.bootstrap) as direct:
        direct.create_topics([NewTopic("ours", replica_assignments={0: [1]})])
    settings = {"upstream.command.config": str(secured.client_config("SASL_PLAINTEXT", MOVER))}
    upstream = secured.addresses("SASL_PLAINTEXT")
    gateway = Reassignd(tmp_path, settings, len(secured.brokers), upstream)
    gateway.start()
    throttle = ["limits", "throttle=1000000", "--url", f"http://{gateway.http}"]
    assert cli.main(throttle) == 0
    move(gateway, {TopicPartition("ours", 0): [2]}, "SCRAM-SHA-256")
    wait_for(lambda: last_job(gateway)["state"], "ended")
    wait_for(lambda: status(gateway)["throttle"]["leases"], 0)
    assert gateway.stop() == 0
    assert "WARN" not in capfd.readouterr().err


def test_refused_credentials_of_the_gateway_are_reported_in_one_line(
    secured: KafkaCluster, tmp_path: Path
) -> None:
    right = secured.client_config("SASL_PLAINTEXT", "admin").read_text()
    wrong = tmp_path / "wrong.properties"
    wrong.touch(0o600)
    wrong.write_text(right.replace("admin-secret", "guessed"))
    port = free_ports(4)
    options = ("--listener", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{port + 3}", "--data-dir", tmp_path)
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
