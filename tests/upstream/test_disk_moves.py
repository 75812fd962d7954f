"""Replicas move between the log directories of a real broker, through kills, a cancel and a rollback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from reassignd.commands.cluster_source import read_kafka
from tests.clients.java_programs import Tools
from tests.reassignd.shell import PATIENCE_SECONDS, Shell
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec
from tools.processes import Reassignd

PARTITIONS, MEGABYTES = 6, 4
WAIT = ("--wait", "--timeout", str(PATIENCE_SECONDS))
ON_ANY_DISK = {"reassignment.max.disk.usage": "1"}
"""The directories are on the volume of the tests, which may be fuller than 90 %."""


@pytest.fixture(scope="module", params=["4.3", "4.1"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One broker with three directories, and a topic with two partitions in each of them."""
    spec = Spec(1, request.param, log_dirs=3, settings=SOON_FENCED)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("disks")) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        admin.create_topics([NewTopic("foo", PARTITIONS, 1)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
        for number in range(PARTITIONS * MEGABYTES * 10):
            producer.send("foo", bytes(100_000), partition=number % PARTITIONS)
        producer.close()
        yield cluster


@pytest.fixture
def shell(kafka: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    server = Reassignd(tmp_path / "gateway", ON_ANY_DISK, 1, kafka.bootstrap)
    server.start()
    yield Shell(server, tmp_path, capsys)
    assert server.stop() == 0


def places(kafka: KafkaCluster) -> dict[int, str]:
    """The directory of each partition."""
    rows = read_kafka(kafka.bootstrap).partitions.values()
    return {row.partition: (row.log_dirs or ())[0] or "" for row in rows if row.topic == "foo"}


def copies(kafka: KafkaCluster) -> list[Path]:
    """The future logs on the disks."""
    return list(kafka.folder.rglob("foo-*-future"))


def throttle(kafka: KafkaCluster) -> str:
    with Tools("4.3") as tools:
        of_broker = ("--bootstrap-server", kafka.bootstrap, "--entity-type", "brokers", "--entity-name", "1")
        lines = tools.run("configs", *of_broker, "--describe").lines
    return next((line.strip() for line in lines if "alter.log.dirs" in line), "")


def empty(shell: Shell, path: str, *options: str) -> str:
    """Order that all replicas leave the directory."""
    only = ("--empty", f"1:{path}", "--to", "99%", "--topics", "foo")
    return shell.ok("propose", "disks", *only, "--execute", *options)


def job(shell: Shell, number: int = 1) -> dict[str, object]:
    found: dict[str, object] = shell.json("job", str(number))["job"]
    return found


def test_a_directory_is_emptied_in_spite_of_kills_and_filled_again(shell: Shell, kafka: KafkaCluster) -> None:
    before = places(kafka)
    path = before[0]
    assert "2 replicas accepted" in empty(shell, path, "--throttle", "100KB")
    shell.until(lambda: bool(copies(kafka)))
    shell.server.kill()
    shell.server.start()
    assert "100000" in throttle(kafka)
    kafka.kill_node(1)
    kafka.start_node(1)
    shell.ok("throttle", "1", "none")
    shell.until(lambda: job(shell)["state"] == "ended")
    assert (job(shell)["outcome"], copies(kafka)) == ("done", [])
    assert path not in places(kafka).values()
    shell.until(lambda: throttle(kafka) == "")
    shell.ok("rollback", "1", *WAIT)
    assert places(kafka) == before


def test_a_cancel_drops_the_copy(shell: Shell, kafka: KafkaCluster) -> None:
    before = places(kafka)
    empty(shell, before[0], "--throttle", "100KB")
    shell.until(lambda: bool(copies(kafka)))
    shell.ok("cancel", "--job", "1")
    shell.until(lambda: job(shell)["state"] == "ended")
    assert (job(shell)["outcome"], places(kafka), copies(kafka)) == ("rolled back", before, [])
