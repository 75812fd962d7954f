"""A standby before a secured cluster.

The principal of the client is known at the active instance, and its rights apply.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import ClusterAuthorizationFailedError

from tests.clients.cluster import wait_for
from tests.upstream.instances import Instance, new_topic
from tools.certificates import make
from tools.kafka_cluster import KafkaCluster, admin_client


@pytest.fixture
def pair(secured: KafkaCluster, tmp_path: Path) -> Iterator[tuple[Instance, Instance]]:
    """The active instance and a standby, whose link uses TLS."""
    make(tmp_path, ["peers"])
    settings: dict[str, Any] = {
        "upstream_command_config": str(secured.client_config("SASL_PLAINTEXT", "admin")),
        "state_topic_replication_factor": "2",
        "gateway_peer_tls_certificate_file": str(tmp_path / "peers.pem"),
        "gateway_session_timeout_ms": "30000",  # the roles stay as they are on a busy machine, too
    }
    topic, upstream = new_topic(), secured.addresses("SASL_PLAINTEXT")
    first, second = (
        Instance(secured, tmp_path, name, topic, upstream, **settings) for name in ("first", "second")
    )
    first.start()
    second.start()
    yield first, second
    for instance in (second, first):
        assert instance.stop() == 0


def client(instance: Instance, user: str) -> closing[Any]:
    return closing(
        KafkaAdminClient(
            bootstrap_servers=instance.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_plain_username=user,
            sasl_plain_password=f"{user}-secret",
        )
    )


def test_the_active_instance_gets_the_principal_and_a_denied_client_gets_nothing(
    secured: KafkaCluster, pair: tuple[Instance, Instance]
) -> None:
    active, standby = pair
    with admin_client(secured.bootstrap) as direct:
        direct.create_topics([NewTopic("forwarded", replica_assignments={0: [1, 2]})])
    moves = {TopicPartition("forwarded", 0): [2, 1]}
    with client(standby, "nothing") as denied, pytest.raises(ClusterAuthorizationFailedError):
        denied.alter_partition_reassignments(moves)
    assert active.get("/v1/jobs")["jobs"] == []
    with client(standby, "alter") as allowed:
        assert allowed.alter_partition_reassignments(moves) == dict.fromkeys(moves)
    (job,) = active.get("/v1/jobs")["jobs"]
    assert job["principal"] == "User:alter"
    wait_for(lambda: active.get("/v1/jobs")["jobs"][0]["state"], "ended")
    (entry,) = standby.get("/v1/audit")["entries"]
    assert (entry["action"], entry["principal"]) == ("order", "User:alter")
    assert entry["detail"]["via"] in standby.log + active.log


def test_the_active_instance_shows_a_renewed_certificate_without_a_restart(
    pair: tuple[Instance, Instance], tmp_path: Path
) -> None:
    active, standby = pair
    link = "requests are forwarded to instance"
    wait_for(lambda: standby.log.count(link), 1)
    make(tmp_path, ["peers"])
    assert standby.stop() == 0
    standby.start()  # It accepts the renewed certificate only.
    wait_for(lambda: standby.log.count(link), 2)
    assert f"{tmp_path / 'peers.pem'} was read again" in active.log
