"""Moves between log directories by the commands, on an embedded cluster with slow disks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_topic
from tools.processes import Reassignd

pytestmark = pytest.mark.whole

DIRS = [f"/embedded/broker-1/logs-{number}" for number in range(3)]
EMPTY = ("propose", "disks", "--empty", f"1:{DIRS[0]}", "--allow-unknown", "--execute")
WAIT = ("--wait", "--timeout", str(PATIENCE_SECONDS))
SLOW = {"embedded.log.dirs": "3", "embedded.disk.bytes.per.second": "5242880"}
"""A replica takes two seconds."""


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    server = Reassignd(tmp_path / "server", SLOW, 3)
    server.start()
    create_topic(server.bootstrap, [[1, 2]] * 6)
    yield Shell(server, tmp_path, capsys)
    assert server.stop() == 0


def test_a_directory_is_emptied_and_filled_again(shell: Shell) -> None:
    ordered = shell.run(*EMPTY, *WAIT)
    assert "Job 1: 2 replicas accepted. `reassignd rollback 1` moves them back." in ordered.out
    assert (ordered.code, "Job 1 is done: 2 replicas in" in ordered.err) == (0, True)
    shown = shell.ok("job", "1")
    assert all(path in shown for path in DIRS)
    assert f"Nothing new is placed in 1:{DIRS[0]}; `reassignd placement --allow" in ordered.out
    assert shell.ok("placement").endswith(f"New replicas are not placed in: 1:{DIRS[0]}\n")
    assert "nothing to move" in shell.ok(*EMPTY)
    shell.ok("placement", "--allow", f"1:{DIRS[0]}")
    assert f"Nothing new is placed in 1:{DIRS[0]}; `reassignd placement --allow" in shell.ok(*EMPTY)
    assert shell.ok("placement").endswith(f"New replicas are not placed in: 1:{DIRS[0]}\n")
    undone = shell.run("rollback", "1", *WAIT)
    assert (undone.code, "Job 2 is done: 2 replicas in" in undone.err) == (0, True)
    assert shell.ok("placement") == "New partitions can be placed on all brokers.\n"
    assert "moves 2 replicas" in shell.ok(*EMPTY[:-1])


def test_a_job_is_cancelled(shell: Shell) -> None:
    shell.ok(*EMPTY, "--throttle", "1MB")
    shell.until(lambda: shell.json("job", "1")["job"]["moving"] == 1)
    assert shell.ok("cancel", "--job", "1") == (
        "2 moves between log directories cancelled: what is under way returns.\n"
    )
    shell.until(lambda: shell.json("job", "1")["job"]["outcome"] == "rolled back")


def test_a_rollback_tells_what_it_cancels(shell: Shell) -> None:
    shell.ok(*EMPTY, "--paused")
    assert shell.ok("rollback", "1") == (
        "2 moves between log directories cancelled: what is under way returns.\n"
    )


def test_an_emptied_directory_stays_empty_in_spite_of_a_kill(shell: Shell) -> None:
    shell.ok(*EMPTY, *WAIT)
    shell.server.kill()
    shell.server.start()
    create_topic(shell.server.bootstrap, [[1, 2]] * 6, "later")
    assert "nothing to move" in shell.ok(*EMPTY)
    assert "New replicas" not in shell.ok("placement", "--allow", f"1:{DIRS[0]}")
    create_topic(shell.server.bootstrap, [[1, 2]] * 2, "last")
    assert "moves 2 replicas" in shell.ok(*EMPTY[:-1])


def test_directories_are_excluded_by_hand(shell: Shell) -> None:
    shown = shell.ok("placement", "--exclude", f"3,1:{DIRS[1]}")
    assert shown.splitlines() == [
        "New partitions are not placed on: 3",
        f"New replicas are not placed in: 1:{DIRS[1]}",
    ]
    for wrong in ("1:", ":/a", "x:/a"):
        assert "expected broker ids and a list of BROKER:PATH" in shell.run("placement", "--allow", wrong).err
