"""kafka-python's command line, `python -m kafka.admin`."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.clients.cluster import Cluster, wait_for


class KafkaPython:
    """Runs the command line against one server."""

    def __init__(self, bootstrap: str) -> None:
        self._command = [sys.executable, "-m", "kafka.admin", "-b", bootstrap, "--format", "json"]

    def __call__(self, *arguments: str) -> Any:
        """Run a command and return the JSON that it prints. Raises CalledProcessError."""
        ran = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, timeout=90, check=True
        )
        return json.loads(ran.stdout)


@pytest.fixture
def kafka_python(cluster: Cluster) -> KafkaPython:
    return KafkaPython(cluster.bootstrap)


def test_a_reassignment_is_started_listed_and_cancelled(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    name = f"{topic}:0"
    assert kafka_python("partitions", "alter-reassignments", "-r", f"{name}={c},{d}") == {name: None}
    assert kafka_python("partitions", "list-reassignments")[name] == {
        "replicas": [c, d, a, b],
        "adding_replicas": [c, d],
        "removing_replicas": [a, b],
    }
    assert kafka_python("partitions", "alter-reassignments", "-r", f"{name}=cancel") == {name: None}
    cluster.expect_reassignments(set())
    assert kafka_python("partitions", "list-reassignments", "-p", name) == {}
    cluster.wait_for_replicas(topic, [[a, b]])


def test_a_reassignment_reaches_its_target(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, a]])
    moves = ("-r", f"{topic}:0={c},{d}", "-r", f"{topic}:1={d},{a}")
    assert kafka_python("partitions", "alter-reassignments", *moves) == {
        f"{topic}:0": None,
        f"{topic}:1": None,
    }
    cluster.wait_for_replicas(topic, [[c, d], [d, a]])


def test_a_refused_partition_is_named_with_its_error(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    rows = kafka_python(
        "partitions", "alter-reassignments", "-r", f"{topic}:0={a},{a}", "-r", "nowhere:0=cancel"
    )
    assert rows == {
        f"{topic}:0": "InvalidReplicationAssignmentError",
        "nowhere:0": "UnknownTopicOrPartitionError",
    }


def test_a_topic_is_created_grown_described_and_deleted(cluster: Cluster, kafka_python: KafkaPython) -> None:
    name = "made-by-kafka-python"
    sizes = ("--num-partitions", "2", "--replication-factor", "3")
    kafka_python("topics", "create", "-t", name, *sizes)
    kafka_python("partitions", "create", "-p", f"{name}:3")
    wait_for(lambda: len(cluster.partitions(name)), 3)
    (described,) = kafka_python("topics", "describe", "-t", name)
    assert sorted(len(row["replica_nodes"]) for row in described["partitions"]) == [3, 3, 3]
    kafka_python("topics", "delete", "-t", name)
    wait_for(lambda: name in kafka_python("topics", "list"), False)


def test_configs_are_altered_shown_and_reset(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    key = "retention.ms"
    resource = ("-r", "topic", "-n", topic)

    def shown() -> tuple[str, str]:
        row = kafka_python("configs", "describe", *resource, "-c", key)["topic"][topic][key]
        return row["value"], row["config_source"]

    assert kafka_python("configs", "alter", *resource, "-c", f"{key}=1000") == {"topic": {topic: "OK"}}
    wait_for(shown, ("1000", "DYNAMIC_TOPIC_CONFIG"))
    assert kafka_python("configs", "reset", *resource, "-c", key) == {"topic": {topic: "OK"}}
    wait_for(shown, ("604800000", "DEFAULT_CONFIG"))


def test_the_preferred_leader_is_elected(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    cluster.move({f"{topic}-0": [b, a]})
    cluster.wait_for_replicas(topic, [[b, a]])
    result = kafka_python("partitions", "elect-leaders", "-p", f"{topic}:0")["replica_election_results"]
    assert [row["partition_result"][0]["error_code"] for row in result] == [0]
    wait_for(lambda: cluster.partitions(topic)[f"{topic}-0"]["leader"], b)


def test_the_cluster_and_its_api_versions_are_described(cluster: Cluster, kafka_python: KafkaPython) -> None:
    described = kafka_python("cluster", "describe")
    assert [broker["broker_id"] for broker in described["brokers"]] == cluster.brokers
    versions = kafka_python("cluster", "api-versions")
    assert versions["AlterPartitionReassignments"] == [0, 1]
    assert versions["ListPartitionReassignments"] == [0, 0]


def test_log_dirs_list_the_brokers_of_a_topic(cluster: Cluster, kafka_python: KafkaPython) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    brokers = [
        row["broker"]
        for row in kafka_python("cluster", "describe-log-dirs")
        for log_dir in row["log_dirs"]
        for topic_row in log_dir["topics"]
        if topic_row["name"] == topic
    ]
    assert sorted(brokers) == [a, b]
