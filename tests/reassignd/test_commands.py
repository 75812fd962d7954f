"""The commands against a running server: submit, watch, limit, cancel, roll back, queue."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.reassignd.shell import ORIGINALS, PARTITIONS, PATIENCE_SECONDS, Shell, replicas_of

pytestmark = pytest.mark.whole

CRAWL = "throttle=1kB"
"""Bytes per second; so low that moves last until the end of the test."""


@contextmanager
def verb(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a process of its own and kill it at the end."""
    command = [sys.executable, "-m", "reassignd", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def moving_and_why(shell: Shell) -> tuple[int, str]:
    """Return the number of moving partitions and the first reason why others wait."""
    status = shell.json("status")
    return status["reassignments"]["moving"], next((row["reason"] for row in status["reasons"]), "")


def test_a_plan_runs_under_limits_that_change_and_is_taken_back_to_the_exact_originals(shell: Shell) -> None:
    shell.ok("limits", "P=1", "R=1")
    job = shell.execute(range(PARTITIONS))
    assert shell.moves()["moving"] <= 1
    half = [option for number in range(100, PARTITIONS) for option in ("--partition", f"foo-{number}")]
    assert shell.run("cancel", *half).err == ""
    shell.ok("limits", "P=10")
    shell.until(lambda: moving_and_why(shell) == (10, "limit P: 10 of 10 partition movements"))
    shell.ok("limits", "P=none", "R=none")
    shell.until(lambda: shell.json("job", str(job))["job"]["state"] == "ended")
    moved = [replicas_of(number, 3) for number in range(100)]
    assert shell.replicas() == moved + ORIGINALS[100:]
    assert shell.run("rollback", str(job), "--wait").code == 0
    assert shell.replicas() == ORIGINALS
    assert shell.ok("list") == "{}\n"


def test_a_second_plan_is_queued_and_runs_behind_the_first(slow: Shell) -> None:
    slow.ok("limits", "P=2", CRAWL)
    slow.execute(range(10))
    queued = slow.execute(range(10, 20), 3, "--queue")
    listed = slow.run("queue", "verify")
    assert (listed.code, listed.out.splitlines()[0]) == (1, "10 partitions in the queue:")
    refused = slow.run("queue", "execute", "--reassignment-json-file", slow.plan(range(20, 25)))
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert refused.err.startswith("reassignd: A queued plan still has partitions that have not started.")
    appended = slow.execute(range(20, 25), 3, "--append")
    slow.ok("limits", "P=none", "throttle=none")
    slow.until(lambda: slow.ok("list") == "{}\n")
    assert slow.ok("queue", "verify") == "The queue is empty.\n"
    assert slow.replicas()[:25] == [replicas_of(number, 3) for number in range(25)]
    assert [slow.json("job", str(each))["job"]["kind"] for each in (queued, appended)] == ["queue", "queue"]


def test_all_jobs_or_one_job_can_be_paused_and_resumed(slow: Shell) -> None:
    assert slow.ok("pause") == "Everything is paused.\n"
    first, second = slow.execute(range(3)), slow.execute(range(3, 6))
    assert slow.moves()["moving"] == 0
    assert "PAUSED" in slow.ok("status")
    assert slow.ok("pause", str(second)) == f"Job {second} is paused.\n"
    slow.ok("resume")
    slow.until(lambda: slow.json("job", str(first))["job"]["state"] == "ended")
    assert f"3  job {second} is paused" in slow.ok("job", str(second))
    slow.ok("resume", str(second))
    slow.ok("priority", str(second), "5")
    assert slow.ok("throttle", str(second), "1GB") == f"Job {second} has a throttle of 1 GB/s.\n"
    assert slow.ok("throttle", str(second), "none") == f"Job {second} has no throttle of its own.\n"
    slow.until(lambda: slow.json("job", str(second))["job"]["state"] == "ended")


def test_waiting_outlives_the_server(slow: Shell) -> None:
    slow.ok("limits", "P=2", CRAWL)
    command = ["execute", "--reassignment-json-file", slow.plan(range(6)), "--wait", "--url", slow.url]
    with verb(*command) as waiting:
        assert waiting.stdout is not None
        assert waiting.stderr is not None
        assert "Job 1: 6 partitions accepted.\n" in iter(waiting.stdout.readline, "")
        slow.server.kill()
        assert any("retrying until the server responds" in line for line in iter(waiting.stderr.readline, ""))
        slow.server.start()
        slow.ok("limits", "P=none", "throttle=none")
        _, err = waiting.communicate(timeout=PATIENCE_SECONDS)
    assert waiting.returncode == 0, err
    assert "retrying" not in err
    assert err.splitlines()[-1].startswith("Job 1 is done: 6 partitions in ")


def test_cancels_by_all_topic_and_job(slow: Shell) -> None:
    slow.ok("limits", CRAWL)
    for option in (["--all"], ["--topic", "foo"], ["--job", "3"]):
        slow.execute(range(4))
        rows = [json.dumps(row, separators=(",", ":")) for row in ORIGINALS[:4]]
        lines = slow.ok("cancel", *option).splitlines()
        assert lines == ["4 partitions cancelled.", *(f"foo-{p} goes to {row}" for p, row in enumerate(rows))]
        slow.until(lambda: slow.ok("list") == "{}\n")
    assert slow.ok("cancel", "--all") == "Nothing to cancel.\n"
    assert slow.run("cancel", "--partition", "foo-0").code == 1
    assert slow.replicas() == ORIGINALS


def test_the_output_of_list_is_a_plan_with_the_targets(slow: Shell, tmp_path: Path) -> None:
    slow.ok("limits", CRAWL)
    slow.execute(range(4))
    listed = tmp_path / "listed.json"
    listed.write_text(slow.ok("list"))
    again = slow.ok("execute", "--reassignment-json-file", str(listed))
    assert "Nothing to do: every partition has these replicas already, or is being moved to them." in again
    assert slow.ok("list") == listed.read_text()
    slow.ok("cancel", "--all")
    slow.until(lambda: slow.ok("list") == "{}\n")
    slow.ok("limits", "throttle=none")
    slow.ok("execute", "--wait", "--reassignment-json-file", str(listed))
    assert slow.replicas()[:4] == [row["replicas"] for row in json.loads(listed.read_text())["partitions"]]


def test_a_cancel_prints_the_throttles_that_remain(slow: Shell) -> None:
    slow.ok("limits", CRAWL)
    slow.execute(range(2))
    lines = slow.ok("cancel", "--partition", "foo-0").splitlines()
    assert lines[2:] == ["The throttle of 1 kB/s stays until the last step in flight has ended."]


def test_the_text_output_of_the_commands(slow: Shell) -> None:
    assert slow.ok("jobs") == "No jobs yet.\n"
    slow.ok("limits", "P=1")
    out = slow.ok("execute", "--reassignment-json-file", slow.plan(range(2)), "--throttle", "1kB")
    lines = out.splitlines()
    assert lines[0] == "Current replicas (`reassignd rollback 1` restores them):"
    assert json.loads(lines[2])["partitions"][0]["replicas"] == ORIGINALS[0]
    assert lines[4] == "Job 1: 2 partitions accepted."
    status = slow.ok("status")
    assert "Moves     2 partitions: 1 moving, 0 waiting, 1 queued" in status
    assert "1  limit P: 1 of 1 partition movements" in status
    assert "Limits    P 1 (1 used)" in status
    assert "Throttle  1 kB/s" in status
    assert re.search(r"^ +1 +plan +running +0/2 ", slow.ok("jobs"), re.MULTILINE)
    shown = slow.ok("job", "1")
    assert re.search(r"^foo-0 +moving +\[1,2,3\] +\[4,5,6\]$", shown, re.MULTILINE)
    assert re.search(r"^P +1 +1 +dynamic +partitions that move at once", slow.ok("limits"), re.MULTILINE)
    moving = json.loads(slow.ok("list"))["partitions"][0]
    assert moving["adding_replicas"] == [4, 5, 6]


def test_a_plan_that_changes_nothing_is_done_at_once(shell: Shell) -> None:
    result = shell.run("execute", "--wait", "--reassignment-json-file", shell.plan(range(3), 0))
    assert (result.code, result.out) == (
        0,
        "Nothing to do: every partition has these replicas already, or is being moved to them.\n",
    )


def test_a_snapshot_goes_to_a_file_too(shell: Shell, tmp_path: Path) -> None:
    lines, columns = tmp_path / "cluster.jsonl", tmp_path / "cluster.parquet"
    shell.ok("snapshot", "--output", str(lines))
    shell.ok("snapshot", "--output", str(columns))
    assert lines.read_text() == shell.ok("snapshot")
    assert columns.read_bytes()[:4] == b"PAR1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.jsonl", "cluster.parquet", "data"]
    failed = shell.run("snapshot", "--output", str(tmp_path / "no" / "where"))
    assert (failed.code, "cannot write" in failed.err) == (1, True)


@pytest.mark.parametrize("name", ["cluster.jsonl", "cluster.parquet"])
def test_a_snapshot_follows_no_links_of_others(shell: Shell, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for link in (name, f"{name}.new"):
        (tmp_path / link).symlink_to(victim)
    shell.ok("snapshot", "--output", str(tmp_path / name))
    assert victim.read_text() == "precious"
    assert not (tmp_path / name).is_symlink()


def test_a_plan_is_proposed_for_some_brokers(shell: Shell, tmp_path: Path) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text('{"version":1,"topics":[{"topic":"foo"}]}')
    answer = shell.json(
        "queue", "generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3"
    )
    assert [row["replicas"] for row in answer["current"]["partitions"]] == ORIGINALS
    assert {tuple(sorted(row["replicas"])) for row in answer["proposed"]["partitions"]} == {(1, 2, 3)}
    moved = [
        set(row["replicas"]) - set(before["replicas"])
        for before, row in zip(answer["current"]["partitions"], answer["proposed"]["partitions"], strict=True)
    ]
    assert sum(map(len, moved)) == sum(broker > 3 for replicas in ORIGINALS for broker in replicas)
    few = shell.run("queue", "generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2")
    assert (few.code, few.err) == (1, "reassignd: foo has 3 replicas, --broker-list only 2 brokers\n")


def test_a_proposed_drain_is_executed_as_a_job(shell: Shell) -> None:
    printed = shell.ok("propose", "drain", "6", "--execute")
    assert "no plan can do with fewer" in printed
    assert "Job 1: " in printed
    shell.until(lambda: shell.ok("list") == "{}\n")
    assert all(6 not in replicas for replicas in shell.replicas())
    assert "nothing to move: the cluster meets the goal" in shell.ok("propose", "drain", "6")
    assert shell.run("rollback", "1", "--wait").code == 0
    assert shell.replicas() == ORIGINALS


def test_a_proposal_from_an_old_snapshot_is_not_executed(shell: Shell, tmp_path: Path) -> None:
    snapshot = tmp_path / "old.jsonl"
    shell.ok("snapshot", "--output", str(snapshot))
    shell.ok("execute", "--wait", "--reassignment-json-file", shell.plan(range(PARTITIONS), 1))
    result = shell.run("propose", "drain", "6", "--snapshot", str(snapshot), "--execute")
    assert result.code == 1
    assert "changed since the snapshot: " in result.err
    assert shell.replicas() == [replicas_of(number, 1) for number in range(PARTITIONS)]
