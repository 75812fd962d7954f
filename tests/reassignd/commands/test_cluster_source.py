import os
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from planner.model.snapshot import Snapshot, parse_snapshot, write_snapshot
from reassignd import cli
from reassignd.commands.cluster_source import Source, read_kafka
from reassignd.config.errors import CommandError
from tests.planner.proposals.builders import cluster
from tests.reassignd.shell import Shell


def measured(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without log directories, which the server measures later."""
    brokers = {
        number: broker._replace(disk_bytes=None, dirs=None) for number, broker in snapshot.brokers.items()
    }
    return snapshot._replace(brokers=brokers)


@pytest.mark.whole
def test_brokers_describe_the_cluster_as_the_server_does(shell: Shell) -> None:
    of_server = parse_snapshot("server", shell.ok("snapshot").encode().splitlines())
    of_brokers = shell.ok("snapshot", "--bootstrap-server", shell.server.bootstrap)
    assert measured(parse_snapshot("brokers", of_brokers.encode().splitlines())) == measured(of_server)


@pytest.mark.whole
def test_a_proposal_needs_brokers_only(shell: Shell) -> None:
    arguments = ["propose", "drain", "6", "--bootstrap-server", shell.server.bootstrap]
    assert "moves 99 replicas" in shell.ok(*arguments)
    refused = shell.run(*arguments, "--execute")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


@pytest.mark.whole
def test_a_cluster_becomes_a_file_for_spark(shell: Shell) -> None:
    for source in ((), ("--bootstrap-server", shell.server.bootstrap)):
        assert "moves 99 replicas" in shell.ok("propose", "drain", "6", "--master", "local", *source)


def test_a_snapshot_from_a_pipe_becomes_a_file_for_spark(tmp_path: Path) -> None:
    write_snapshot(cluster("--", (1, 2)), tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "file").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    with Source(snapshot=tmp_path / "pipe").as_file(Mock()) as path:
        assert path.read_bytes() == content
    writer.join()


@pytest.mark.whole
def test_moves_that_brokers_list_are_refused(slow: Shell) -> None:
    slow.ok("limits", "throttle=1kB")
    slow.execute([0, 1])
    partitions = read_kafka(slow.server.bootstrap).partitions
    assert partitions["foo", 0].replicas == (1, 2, 3)
    assert partitions["foo", 0].target == (4, 5, 6)
    refused = slow.run("propose", "drain", "6", "--bootstrap-server", slow.server.bootstrap)
    assert refused.err.startswith("reassignd: foo-0 and 1 more partition are being reassigned")
    assert refused.code == 1


def test_brokers_that_cannot_be_reached_are_named() -> None:
    with pytest.raises(CommandError, match=r"--bootstrap-server localhost:1: cannot connect to localhost:1"):
        read_kafka("localhost:1")
    with pytest.raises(CommandError, match=r"--bootstrap-server 'localhost': expected HOST:PORT"):
        read_kafka("localhost")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--command-config", "x"], "--command-config needs --bootstrap-server"),
        (
            ["--snapshot", "x", "--bootstrap-server", "y:1"],
            "--snapshot and --bootstrap-server cannot be used",
        ),
    ],
)
def test_options_that_contradict_are_refused(
    options: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["drained", "1", *options]) == 2
    assert capsys.readouterr().err.startswith(f"reassignd: {error}")


def test_a_missing_client_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.properties")
    assert cli.main(["propose", "racks", "--bootstrap-server", "x:1", "--command-config", missing]) == 2
    assert missing in capsys.readouterr().err
