"""Drained brokers of a real Kafka are cordoned, from 4.3 on (KIP-1066)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reassignd.commands.cluster_source import read_kafka
from tests.clients.java_programs import ToolResult, Tools
from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_placed_topic, create_topic
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

LISTS = [[2], [1], [2]]
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
    rows = read_kafka(kafka.bootstrap).partitions
    return [list(row.replicas) for row in rows.values() if row.topic == topic]


def configs(kafka: KafkaCluster, *arguments: str) -> ToolResult:
    """Run kafka-configs for broker 2."""
    with Tools("4.3") as tools:
        of_broker = ("--bootstrap-server", kafka.bootstrap, "--entity-type", "brokers", "--entity-name", "2")
        result = tools.run("configs", *of_broker, *arguments)
    assert result.exit_code == 0, result
    return result


def cordon(kafka: KafkaCluster) -> str:
    """Return what kafka-configs shows of broker 3."""
    lines = configs(kafka, "--describe").lines
    return next((line.strip() for line in lines if "cordoned.log.dirs" in line), "")


def test_a_drained_broker_gets_no_new_partition_until_the_rollback(
    shell: Shell, two_brokers: tuple[str, KafkaCluster]
) -> None:
    version, kafka = two_brokers
    create_topic(shell.server.bootstrap, LISTS, "old")
    shell.ok("pause")
    drain = shell.run("propose", "drain", "2", "--topics", "old", "--execute")
    refused = "broker 2 is not cordoned, Kafka refuses it (it is older than Kafka 4.3)"
    assert (drain.code, refused in drain.err) == (0, version == "4.1"), drain
    assert cordon(kafka).startswith("cordoned.log.dirs=*") is (version == "4.3")
    create_placed_topic(shell.server.bootstrap, "meanwhile", 12, 1)
    landed = any(2 in replicas for replicas in lists(kafka, "meanwhile"))
    assert landed is (version == "4.1")
    shell.ok("resume")
    shell.until(lambda: lists(kafka, "old") == [[1], [1], [1]])
    shell.server.kill()
    shell.server.start()
    shell.ok("rollback", "1", *WAIT)
    assert lists(kafka, "old") == LISTS
    shell.until(lambda: cordon(kafka) == "")
    create_placed_topic(shell.server.bootstrap, "later", 12, 1)
    assert any(2 in replicas for replicas in lists(kafka, "later"))


@pytest.mark.parametrize("two_brokers", ["4.3"], indirect=True)
def test_a_cordon_of_others_stays(shell: Shell, two_brokers: tuple[str, KafkaCluster]) -> None:
    _, kafka = two_brokers
    configs(kafka, "--alter", "--add-config", "cordoned.log.dirs=*")
    shell.ok("placement", "--exclude", "2")
    assert "is still cordoned: others have set" in shell.run("placement", "--allow", "2").err
    assert cordon(kafka).startswith("cordoned.log.dirs=*")
    configs(kafka, "--alter", "--delete-config", "cordoned.log.dirs")
