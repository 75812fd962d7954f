"""Kafka's own tool executes plans between log directories of a real broker with three of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from reassignd import cli
from reassignd.commands.cluster_source import read_kafka
from tests.clients.cluster import wait_for
from tests.clients.java_programs import Tools
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec

PARTITIONS = 9


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Two brokers with a topic whose partitions are in all directories."""
    spec = Spec(2, "4.3", log_dirs=3, settings=SOON_FENCED)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("disks")) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        admin.create_topics([NewTopic("foo", PARTITIONS, 2)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
        for number in range(PARTITIONS):
            producer.send("foo", bytes(100_000 * (number + 1)), partition=number)
        producer.close()
        yield cluster


def placed(kafka: KafkaCluster, broker: int) -> dict[int, str]:
    """Return the directory of each partition's replica on the broker."""
    rows = read_kafka(kafka.bootstrap).partitions.values()
    return {
        row.partition: path
        for row in rows
        for number, path in zip(row.replicas, row.log_dirs or (), strict=True)
        if row.topic == "foo" and number == broker and path is not None
    }


def execute(tools: Tools, kafka: KafkaCluster, plan: Path) -> None:
    """Execute a plan by Kafka's tool."""
    where = ("--bootstrap-server", kafka.bootstrap, "--reassignment-json-file", str(plan))
    done = tools.run("reassign", *where, "--execute")
    assert "Successfully started" in done.stdout, done


def test_a_directory_is_emptied_and_filled_again(kafka: KafkaCluster, tmp_path: Path) -> None:
    wait_for(lambda: (len(placed(kafka, 1)), len({*placed(kafka, 1).values()})), (PARTITIONS, 3))
    before, others = placed(kafka, 1), placed(kafka, 2)
    plan, rollback = tmp_path / "plan.json", tmp_path / "rollback.json"
    empty = ("propose", "disks", "--empty", f"1:{before[0]}", "--to", "99%", "--topics", "foo")
    of_kafka = ("--bootstrap-server", kafka.bootstrap)
    assert cli.main([*empty, *of_kafka, "--output", str(plan), "--rollback-file", str(rollback)]) == 0
    with Tools("4.3") as tools:
        execute(tools, kafka, plan)
        wait_for(lambda: before[0] in placed(kafka, 1).values(), False)
        execute(tools, kafka, rollback)
        wait_for(lambda: placed(kafka, 1), before)
    assert placed(kafka, 2) == others


def test_directories_on_one_volume_are_evenly_full(
    kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["propose", "disks", "--bootstrap-server", kafka.bootstrap]) == 0
    assert capsys.readouterr().out.startswith("nothing to move: the directories meet the goal")
