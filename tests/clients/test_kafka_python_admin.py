"""kafka-python's admin client."""

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import (
    InvalidReplicationAssignmentError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)

from controller.scheduling.limits import LETTERED
from tests.clients.cluster import Cluster

LIMITS = dict(zip((limit.config for limit in LETTERED), ("1", "100", "50", "150", "50"), strict=True))
"""R, P, L, C and B of KIP-435: several steps for a partition, and several rounds for a thousand."""


@pytest.fixture(params=["no limits", "limits"], autouse=True)
def limits(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[None]:
    """KIP-435's test plan: every test runs with its limits unset and set."""
    if request.param == "no limits":
        yield
        return
    if cluster.kind == "kafka":
        pytest.skip("Kafka has no limits")
    cluster.set_configs("BROKER", "", dict(LIMITS))
    yield
    cluster.set_configs("BROKER", "", dict.fromkeys(LIMITS))


@pytest.fixture
def client(cluster: Cluster) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    yield client
    client.close()


@pytest.mark.tour
def test_a_reassignment_is_started_listed_and_cancelled(cluster: Cluster, client: KafkaAdminClient) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    partition = TopicPartition(topic, 0)
    assert client.alter_partition_reassignments({partition: [c, d]}) == {partition: None}
    state = {"replicas": [c, d, a, b], "adding_replicas": [c, d], "removing_replicas": [a, b]}
    assert client.list_partition_reassignments() == {partition: state}
    assert client.list_partition_reassignments({topic: [0]}) == {partition: state}
    assert client.alter_partition_reassignments({partition: None}) == {partition: None}
    cluster.expect_reassignments(set())
    assert client.list_partition_reassignments() == {}


@pytest.mark.tour
def test_a_reassignment_reaches_its_target(cluster: Cluster, client: KafkaAdminClient) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    client.alter_partition_reassignments({TopicPartition(topic, 0): [d, c, a]})
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[d, c, a]])


def test_each_refused_partition_has_its_own_error(cluster: Cluster, client: KafkaAdminClient) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b], [a, b]], filled=False)
    refused = client.alter_partition_reassignments(
        {TopicPartition(topic, 0): [a, a], TopicPartition(topic, 1): None, TopicPartition("nowhere", 0): [a]}
    )
    assert refused == {
        TopicPartition(topic, 0): InvalidReplicationAssignmentError,
        TopicPartition(topic, 1): NoReassignmentInProgressError,
        TopicPartition("nowhere", 0): UnknownTopicOrPartitionError,
    }


def test_a_thousand_partitions_are_reassigned_in_one_request(
    cluster: Cluster, client: KafkaAdminClient
) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]] * 1000, filled=False)
    moves = {TopicPartition(topic, number): [c, b] for number in range(1000)}
    assert client.alter_partition_reassignments(moves) == dict.fromkeys(moves)
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[c, b]] * 1000)
