"""Records are moved between data directories and a topic of a real cluster."""

import json
import time
from itertools import count
from pathlib import Path

import pytest

from backends.upstream.client import UpstreamClient
from reassignd.cli import main
from tests.reassignd.transfer.builders import a_directory
from tests.upstream.instances import Instance
from tests.upstream.state_instances import admin
from tools.kafka_cluster import KafkaCluster

NUMBERS = count()


class Command:
    """Runs `reassignd state` on a topic of the cluster."""

    def __init__(self, kafka: KafkaCluster, capfd: pytest.CaptureFixture[str]) -> None:
        self.topic = f"__reassignd_moves_{next(NUMBERS)}"
        self._capfd = capfd
        self._options = ("--bootstrap-server", kafka.bootstrap, "--state-topic", self.topic)

    def __call__(self, *arguments: str, code: int = 0) -> str:
        self._capfd.readouterr()
        assert main(["state", *arguments, *self._options, "--session-ms", "3000"]) == code
        captured = self._capfd.readouterr()
        return captured.err if code else captured.out


@pytest.fixture
def command(kafka: KafkaCluster, capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(kafka, capfd)


@pytest.fixture
async def source(client: UpstreamClient, tmp_path: Path) -> Path:
    """The data directory of a gateway before the cluster."""
    path = await a_directory(tmp_path / "d")
    text = (path / "meta.properties").read_text().replace("upstream-1", client.cluster_id)
    (path / "meta.properties").write_text(text)
    return path


def test_a_directory_is_moved_to_a_topic_and_back(command: Command, source: Path, tmp_path: Path) -> None:
    assert command("import", "--data-dir", str(source)).startswith("moved 3 records from")
    lines = [json.loads(line) for line in command("export").splitlines()]
    assert lines[0]["key"] == ["meta"]
    back = tmp_path / "back"
    assert "moved the records" in command("export", "--data-dir", str(back))
    assert (back / "records.db").exists()
    assert f"were moved to {back} before" in command("export", "--data-dir", str(tmp_path / "again"))
    assert "has no records" not in command("import", "--data-dir", str(back))


def test_a_deleted_topic_is_made_again_from_its_export(
    command: Command, source: Path, kafka: KafkaCluster, tmp_path: Path
) -> None:
    command("import", "--data-dir", str(source))
    backup = tmp_path / "backup.jsonl"
    backup.write_text(command("export"))
    with admin(kafka) as client:
        client.delete_topics([command.topic])
    assert "there is no topic" in command("export", code=1)
    assert "wrote 6 rows" in command("recreate", str(backup))
    assert command("export") == backup.read_text()


def wait_for_log(instance: Instance, text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in instance.log:
        assert time.monotonic() < deadline, instance.log
        time.sleep(0.1)


def test_moves_are_refused_while_an_instance_is_active(
    command: Command, source: Path, kafka: KafkaCluster, tmp_path: Path
) -> None:
    instance = Instance(kafka, tmp_path, "only", command.topic)
    instance.start()
    backup = tmp_path / "backup.jsonl"
    backup.write_text(command("export"))
    for move in (
        ("import", "--data-dir", str(source)),
        ("export", "--data-dir", str(tmp_path / "new")),
        ("recreate", str(backup)),
    ):
        (line,) = command(*move, code=1).splitlines()
        assert f"is active: stop all instances that use the state topic {command.topic}" in line
    assert "role: active" in instance.text("/readyz")
    assert instance.stop() == 0


def test_an_instance_that_runs_goes_on_with_the_recreated_topic(
    command: Command, kafka: KafkaCluster, tmp_path: Path
) -> None:
    instance = Instance(kafka, tmp_path, "only", command.topic)
    instance.start()
    backup = tmp_path / "backup.jsonl"
    backup.write_text(command("export"))
    with admin(kafka) as client:
        client.delete_topics([command.topic])
    wait_for_log(instance, "was deleted: no instance is active")
    command("recreate", str(backup))
    wait_for_log(instance, "this instance is active: term 2")
    assert instance.stop() == 0
    assert command("export").splitlines()[0] == backup.read_text().splitlines()[0]


def test_another_cluster_is_refused(command: Command, source: Path) -> None:
    text = (source / "meta.properties").read_text()
    properties = source / "meta.properties"
    properties.write_text("".join(_of_another_cluster(line) for line in text.splitlines(keepends=True)))
    assert "are those of cluster another, not of" in command("import", "--data-dir", str(source), code=1)


def _of_another_cluster(line: str) -> str:
    return "upstream.cluster.id=another\n" if line.startswith("upstream.cluster.id=") else line
