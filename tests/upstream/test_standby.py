"""Clients that are connected to a standby.

Their requests for reassignd are forwarded to the active instance.
"""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.clients.cluster import SLOW, Cluster, wait_for
from tests.clients.java_programs import JavaAdmin, Tools
from tests.clients.servers import Server
from tests.clients.tool import Tool
from tests.clients.tours import CLIENTS, Client, expected, tour
from tests.upstream.instances import Instance, new_topic
from tools.kafka_cluster import KafkaCluster

LIMIT = "reassignment.max.concurrent.partition.movements"
DEFAULT = ("--entity-type", "brokers", "--entity-default")
SESSION_MS = "30000"
"""The roles stay as they are on a busy machine, too."""


@pytest.fixture(scope="module")
def instances(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Instance, Instance]]:
    """The active instance and a standby."""
    topic, folder = new_topic(), tmp_path_factory.mktemp("instances")
    active, standby = (
        Instance(kafka, folder, name, topic, gateway_session_timeout_ms=SESSION_MS)
        for name in ("first", "second")
    )
    active.start()
    standby.start()
    yield active, standby
    for instance in (standby, active):
        assert instance.stop() == 0


@pytest.fixture(scope="module")
def standby(instances: tuple[Instance, Instance]) -> Instance:
    return instances[1]


@pytest.fixture(scope="module")
def admin(standby: Instance) -> Iterator[JavaAdmin]:
    with JavaAdmin(standby.bootstrap) as admin:
        yield admin


@pytest.fixture
def cluster(standby: Instance, admin: JavaAdmin) -> Iterator[Cluster]:
    """The cluster through the standby."""
    cluster = Cluster(Server("reassignd", standby.bootstrap), admin)
    yield cluster
    cluster.clean()
    assert "role: standby" in standby.text("/readyz")


ONE_OF_EACH_LANGUAGE = [
    client for client in CLIENTS if client.name in {"java-4.3.0", "confluent-kafka", "franz-go", "kafkajs"}
]


@pytest.mark.parametrize("client", ONE_OF_EACH_LANGUAGE, ids=lambda client: client.name)
def test_a_client_creates_configures_moves_and_deletes(cluster: Cluster, client: Client) -> None:
    if not client.needs():
        pytest.skip(f"{client.name} is left out: `python -m tools.other_clients` tells why")
    a, b, c, d = cluster.brokers[:4]
    lines = tour(client, cluster.bootstrap, f"standby-{client.name}", (a, b), (c, d))
    assert lines == expected(client, cluster.brokers, (a, b), (c, d))


def test_the_tools_execute_list_verify_cancel_and_set_limits(
    cluster: Cluster, standby: Instance, tmp_path_factory: pytest.TempPathFactory
) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    with Tools("4.3") as tools:
        tool = Tool(tools, standby.bootstrap, tmp_path_factory.mktemp("tool"))
        assert tool("configs", *DEFAULT, "--alter", "--add-config", f"{LIMIT}=7").exit_code == 0
        assert f"{LIMIT}=7" in tool("configs", *DEFAULT, "--describe").stdout
        moves = {topic: [[c, d]]}
        assert tool.reassign("--execute", moves, "--throttle", SLOW).exit_code == 0
        assert f"{topic}-0: replicas: {c},{d},{a},{b}." in tool("reassign", "--list").stdout
        assert "is still in progress" in tool.reassign("--verify", moves).stdout
        assert "Successfully cancelled" in tool.reassign("--cancel", moves).stdout
        assert tool("configs", *DEFAULT, "--alter", "--delete-config", LIMIT).exit_code == 0
    cluster.wait_for_replicas(topic, [[a, b]])
    assert standby.get("/v1/jobs")["jobs"][0]["principal"] == "User:ANONYMOUS"


def test_kafka_python_moves_lists_and_cancels(cluster: Cluster) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    client, partition = KafkaAdminClient(bootstrap_servers=cluster.bootstrap), TopicPartition(topic, 0)
    assert client.alter_partition_reassignments({partition: [c, d]}) == {partition: None}
    state = {"replicas": [c, d, a, b], "adding_replicas": [c, d], "removing_replicas": [a, b]}
    assert client.list_partition_reassignments() == {partition: state}
    assert client.alter_partition_reassignments({partition: None}) == {partition: None}
    wait_for(client.list_partition_reassignments, {})
    client.close()


def test_a_refusal_is_the_same_as_at_the_active_instance(
    cluster: Cluster, instances: tuple[Instance, Instance]
) -> None:
    with JavaAdmin(instances[0].bootstrap) as at_active:
        moves: dict[str, list[int] | None] = {"nowhere-0": [1, 2], "nowhere-1": None}
        assert cluster.admin.do("alter", moves=moves) == at_active.do("alter", moves=moves)


def test_the_http_api_of_the_standby_answers_for_the_active_instance(
    instances: tuple[Instance, Instance],
) -> None:
    active, standby = instances
    assert standby.get("/v1/status")["version"] == active.get("/v1/status")["version"]
    assert standby.get("/v1/whoami") == active.get("/v1/whoami")
    assert "reassignd_" in standby.text("/metrics")
    ready, role, leader, lag = standby.text("/readyz").splitlines()
    assert (ready, role) == ("ready", "role: standby")
    assert leader.startswith("active: ")
    assert lag.startswith("lag: ")
    with pytest.raises(urllib.error.HTTPError) as refused:
        standby.get("/v1/jobs/999999")
    assert refused.value.code == 404
    request = urllib.request.Request(f"http://{standby.http}/v1/limits", b'{"P": 5}', method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    (limit,) = [row["limit"] for row in active.get("/v1/limits")["limits"] if row["name"] == "P"]
    assert limit == 5


def test_the_event_stream_of_the_standby_shows_changes_at_the_active_instance(
    cluster: Cluster, standby: Instance
) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]], filled=False)
    with urllib.request.urlopen(f"http://{standby.http}/v1/events", timeout=30) as events:
        cluster.move({f"{topic}-0": [c, d]})
        seen = iter(events.readline, b"")
        assert any(topic.encode() in line or b'"job"' in line for line in seen)
