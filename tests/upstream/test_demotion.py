"""Demotions of brokers of a real Kafka: under a producer, back again, and by time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reassignd.commands.cluster_source import read_kafka
from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_topic
from tests.upstream.traffic import Traffic
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

LISTS = [[1, 2], [1, 2], [2, 1], [1, 2]]
WAIT = ("--wait", "--timeout", str(PATIENCE_SECONDS))


@pytest.fixture
def kafka_of(two_brokers: tuple[str, KafkaCluster]) -> KafkaCluster:
    return two_brokers[1]


@pytest.fixture
def shell(kafka_of: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    server = Reassignd(tmp_path / "gateway", {}, 2, kafka_of.bootstrap)
    server.start()
    yield Shell(server, tmp_path, capsys)
    assert server.stop() == 0


def lists(kafka: KafkaCluster, topic: str) -> list[list[int]]:
    """Return the replicas of the topic's partitions, as Kafka shows them."""
    return [
        list(row.replicas) for row in read_kafka(kafka.bootstrap).partitions.values() if row.topic == topic
    ]


def leaders(kafka: KafkaCluster, topic: str) -> list[int]:
    return [row.leader for row in read_kafka(kafka.bootstrap).partitions.values() if row.topic == topic]


def test_a_broker_is_demoted_under_a_producer_and_put_back(shell: Shell, kafka_of: KafkaCluster) -> None:
    create_topic(shell.server.bootstrap, LISTS, "busy")
    shell.ok("limits", "L=2")
    with Traffic(kafka_of.addresses(), "busy", len(LISTS)) as traffic:
        traffic.wait_for(100)
        shell.ok("propose", "demote", "1", "--topics", "busy", "--execute", *WAIT)
        shell.until(lambda: leaders(kafka_of, "busy") == [2] * len(LISTS))
        assert lists(kafka_of, "busy") == [[2, 1]] * len(LISTS)
        traffic.wait_for(100)
        shell.ok("rollback", "1", *WAIT)
        traffic.wait_for(100)
    assert lists(kafka_of, "busy") == LISTS
    shell.until(lambda: leaders(kafka_of, "busy") == [replicas[0] for replicas in LISTS])
    traffic.check()


def test_a_broker_that_leads_without_being_preferred_only_hands_over(
    shell: Shell, kafka_of: KafkaCluster, tmp_path: Path
) -> None:
    create_topic(shell.server.bootstrap, [[1, 2]], "swapped")
    plan = tmp_path / "plan.json"
    plan.write_text(
        '{"version": 1, "partitions": [{"topic": "swapped", "partition": 0, "replicas": [2, 1]}]}'
    )
    shell.ok("execute", "--reassignment-json-file", str(plan), *WAIT)
    assert (lists(kafka_of, "swapped"), leaders(kafka_of, "swapped")) == ([[2, 1]], [1])
    said = shell.ok("propose", "demote", "1", "--topics", "swapped", "--execute", *WAIT)
    assert "elects the preferred leader of 1 further partition" in said
    shell.until(lambda: leaders(kafka_of, "swapped") == [2])
    assert lists(kafka_of, "swapped") == [[2, 1]]
    [newest, _] = shell.json("jobs")["jobs"]
    assert (newest["outcome"], newest["total"]) == ("done", 1)


def test_a_demotion_ends_by_itself_although_the_gateway_was_killed(
    shell: Shell, kafka_of: KafkaCluster
) -> None:
    create_topic(shell.server.bootstrap, [[1, 2], [2, 1]], "timed")
    create_topic(shell.server.bootstrap, [[1]], "alone")
    topics = ("--topics", "timed|alone")
    said = shell.ok("propose", "demote", "1", *topics, "--execute", "--until", "10s", *WAIT)
    assert "left out, led by broker 1, which has the only replica: 1 partition: alone-0" in said
    shell.server.kill()
    shell.server.start()
    shell.until(lambda: leaders(kafka_of, "timed") == [1, 2] and len(shell.json("jobs")["jobs"]) == 2)
    assert lists(kafka_of, "timed") == [[1, 2], [2, 1]]
