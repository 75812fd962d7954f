"""Replicas move between the log directories of a real broker, through kills, a cancel and a rollback.

From Kafka 4.3 on, the directories that they leave are cordoned (KIP-1066).
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from reassignd.commands.cluster_source import read_kafka
from tests.clients.cluster import wait_for
from tests.clients.java_programs import Tools
from tests.reassignd.shell import PATIENCE_SECONDS, Result, Shell
from tools.kafka_cluster import KafkaCluster, admin_client, running_kafka
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


def places(kafka: KafkaCluster, topic: str = "foo") -> dict[int, str]:
    """The directory of each partition."""
    rows = [row for row in read_kafka(kafka.bootstrap).partitions.values() if row.topic == topic]
    return {row.partition: row.log_dirs[0] for row in rows if row.log_dirs and row.log_dirs[0]}


def copies(kafka: KafkaCluster) -> list[Path]:
    """The future logs on the disks."""
    return list(kafka.folder.rglob("foo-*-future"))


def config(kafka: KafkaCluster, part: str) -> str:
    """What kafka-configs shows of the broker's config with this part in its name."""
    with Tools("4.3") as tools:
        of_broker = ("--bootstrap-server", kafka.bootstrap, "--entity-type", "brokers", "--entity-name", "1")
        lines = tools.run("configs", *of_broker, "--describe").lines
    return next((line.strip().partition(" ")[0] for line in lines if part in line), "")


def set_by_hand(kafka: KafkaCluster, change: str) -> None:
    with Tools("4.3") as tools:
        of_broker = ("--bootstrap-server", kafka.bootstrap, "--entity-type", "brokers", "--entity-name", "1")
        result = tools.run("configs", *of_broker, "--alter", "--add-config", change)
    assert result.exit_code == 0, result


def throttle(kafka: KafkaCluster) -> str:
    return config(kafka, "alter.log.dirs")


def cordon(kafka: KafkaCluster) -> str:
    return config(kafka, "cordoned").partition("=")[2]


def create(kafka: KafkaCluster, topic: str) -> set[str]:
    """Create a topic; return the directories that it is in."""
    with admin_client(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    wait_for(lambda: len(places(kafka, topic)), PARTITIONS)
    return {*places(kafka, topic).values()}


def empty(shell: Shell, path: str, *options: str) -> Result:
    """Order that all replicas leave the directory."""
    only = ("--empty", f"1:{path}", "--to", "99%", "--topics", "foo")
    ordered = shell.run("propose", "disks", *only, "--execute", *options)
    assert ordered.code == 0, ordered
    return ordered


def job(shell: Shell, number: int = 1) -> dict[str, object]:
    found: dict[str, object] = shell.json("job", str(number))["job"]
    return found


def test_a_directory_is_emptied_in_spite_of_kills_and_filled_again(shell: Shell, kafka: KafkaCluster) -> None:
    before = places(kafka)
    path = before[0]
    cordons = kafka.spec.version == "4.3"
    ordered = empty(shell, path, "--throttle", "100KB")
    assert "2 replicas accepted" in ordered.out
    refused = f"{path} of broker 1 is not cordoned, Kafka refuses it (it is older than Kafka 4.3)"
    assert (refused in ordered.err, cordon(kafka)) == (not cordons, path if cordons else "")
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
    assert (path in create(kafka, "meanwhile")) is not cordons
    shell.server.kill()
    shell.server.start()
    shell.ok("rollback", "1", *WAIT)
    assert (places(kafka), cordon(kafka)) == (before, "")
    assert not cordons or path in create(kafka, "later")


def test_kafkas_tool_executes_the_rollback_file_of_a_job(
    shell: Shell, kafka: KafkaCluster, tmp_path: Path
) -> None:
    before = places(kafka)
    empty(shell, before[0], *WAIT)
    shell.ok("placement", "--allow", f"1:{before[0]}")
    file = tmp_path / "rollback.json"
    file.write_text(urlopen(f"{shell.url}/v1/jobs/1/rollback.json").read().decode())
    with Tools("4.3") as tools:
        where = ("--bootstrap-server", kafka.bootstrap, "--reassignment-json-file", str(file))
        done = tools.run("reassign", *where, "--execute")
    assert "Successfully started" in done.stdout, done
    shell.until(lambda: places(kafka) == before)


def test_a_cancel_drops_the_copy(shell: Shell, kafka: KafkaCluster) -> None:
    before = places(kafka)
    empty(shell, before[0], "--throttle", "100KB")
    shell.until(lambda: bool(copies(kafka)))
    shell.ok("cancel", "--job", "1")
    shell.until(lambda: job(shell)["state"] == "ended")
    assert (job(shell)["outcome"], places(kafka), copies(kafka)) == ("rolled back", before, [])
    shell.until(lambda: cordon(kafka) == "")


@pytest.mark.parametrize("kafka", ["4.3"], indirect=True)
def test_cordons_of_others_stay_and_one_of_a_removed_directory_ends(
    shell: Shell, kafka: KafkaCluster
) -> None:
    """A broker with a cordon of a directory that it does not have ignores all of its dynamic configs."""
    _, path, other = kafka.log_dirs(1)
    set_by_hand(kafka, f"cordoned.log.dirs={other}")
    emptied = shell.run("placement", "--exclude", f"1:{path}")
    assert (emptied.code, emptied.err, cordon(kafka)) == (0, "", f"{other},{path}")
    kafka.stop_node(1)
    kafka.remove_log_dir(1, path)
    kafka.start_node(1)
    kafka.wait_ready()
    shell.until(lambda: cordon(kafka) == other)
    assert "New replicas" not in shell.ok("placement")
