import json
from pathlib import Path

import pytest

from reassignd import cli
from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_placed_topic, create_topic

pytestmark = pytest.mark.whole

DRAINED = "broker 6 holds nothing; it can be stopped"


def changed_snapshot(shell: Shell, folder: Path) -> str:
    """Return a snapshot file of before a move of foo-3, which has a replica on broker 6."""
    path = str(folder / "old.jsonl")
    shell.ok("snapshot", "--output", path)
    job = shell.execute([3], 1)
    shell.until(lambda: shell.json("job", str(job))["job"]["state"] == "ended")
    return path


def test_a_drained_broker_can_be_stopped_and_the_drain_rolled_back(shell: Shell) -> None:
    before = shell.replicas()
    drain = shell.ok("propose", "drain", "6", "--execute", "--wait", "--timeout", str(PATIENCE_SECONDS))
    assert drain.splitlines()[-1] == DRAINED
    assert shell.ok("drained", "6") == f"{DRAINED}\n"
    again = shell.ok("propose", "drain", "6", "--execute", "--wait")
    assert again.splitlines()[0] == "nothing to move: the cluster meets the goal"
    shell.ok("rollback", "1", "--wait")
    assert shell.replicas() == before


def test_a_proposal_is_not_executed_if_replicas_have_changed(shell: Shell, tmp_path: Path) -> None:
    old, plan = changed_snapshot(shell, tmp_path), tmp_path / "plan.json"
    arguments = ("propose", "drain", "6", "--snapshot", old, "--execute", "--output", str(plan))
    refused = shell.run(*arguments)
    assert (refused.code, refused.out) == (1, "")
    assert (
        refused.err
        == "reassignd: foo-3 has changed since the snapshot; take a new snapshot, or use --replan\n"
    )
    assert len(shell.json("jobs")["jobs"]) == 1
    assert not plan.exists()
    again = shell.run(*arguments, "--replan", "--wait")
    assert (again.code, DRAINED in again.out) == (0, True)


def test_a_snapshot_of_another_cluster_is_refused(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    lines = shell.ok("snapshot").splitlines()
    path.write_text("\n".join(['{"kind": "cluster", "cluster_id": "other"}', *lines[1:]]))
    refused = shell.run("propose", "drain", "6", "--snapshot", str(path), "--execute", "--replan")
    assert refused.code == 1
    assert refused.err.startswith("reassignd: the snapshot is of cluster other, but the server's is ")
    assert shell.json("jobs")["jobs"] == []


def test_a_watched_drain_takes_new_partitions_too(shell: Shell) -> None:
    shell.ok("propose", "drain", "6", "--execute", "--wait")
    create_topic(shell.server.bootstrap, [[6, 1, 2]] * 5, "late")
    assert shell.run("drained", "6").code == 1
    watched = shell.ok("propose", "drain", "6", "--execute", "--watch", "--timeout", str(PATIENCE_SECONDS))
    assert watched.splitlines()[-1] == DRAINED
    assert shell.ok("propose", "drain", "6", "--execute", "--watch") == f"{DRAINED}\n"


def test_new_partitions_are_kept_off_drained_brokers_until_they_are_added(shell: Shell) -> None:
    shell.ok("propose", "drain", "6", "--execute", "--wait")
    shell.server.kill()
    shell.server.start()
    create_placed_topic(shell.server.bootstrap, "spread", 12, 2)
    assert shell.ok("drained", "6") == f"{DRAINED}\n"
    assert "6 of 6 brokers (excluded: 6)" in shell.ok("status")
    shell.ok("propose", "add", "6", "--execute", "--wait")
    assert shell.ok("placement") == "New partitions can be placed on all brokers.\n"
    assert shell.run("drained", "6").code == 1


def test_placement_is_changed_by_hand(shell: Shell) -> None:
    shown = "New partitions are not placed on: 3, 6\n"
    assert shell.ok("placement", "--exclude", "6,3") == shown
    assert shell.json("placement", "--allow", "3")["excluded"] == [6]
    unknown = shell.run("placement", "--exclude", "9")
    assert (unknown.code, unknown.err) == (1, "reassignd: There is no broker 9.\n")
    assert shell.run("placement", "--exclude", "x").code == 2


def test_a_watched_drain_ends_at_its_timeout(slow: Shell) -> None:
    slow.ok("limits", "throttle=1000")
    watched = slow.run("propose", "drain", "6", "--execute", "--watch", "--timeout", "1")
    assert watched.code == 1
    assert "broker 6 holds 99 replicas" in watched.out


def test_a_dry_run_forecasts_under_the_limits_of_the_server(shell: Shell) -> None:
    shell.ok("limits", "P=1", "throttle=100000")
    forecast = shell.json("propose", "drain", "6", "--dry-run")["forecast"]
    assert (forecast["limits"]["p"], forecast["bandwidth"], forecast["waves"]) == (1, 100_000, 99)
    assert "99 steps in 99 waves" in shell.ok("propose", "drain", "6", "--dry-run", "--throttle", "5")
    assert shell.json("jobs")["jobs"] == []


def test_a_dry_run_has_the_time_within_the_schedule_of_the_server(shell: Shell) -> None:
    shell.ok("schedule", "00:00-24:00 throttle=100")
    shown = shell.json("propose", "drain", "6", "--dry-run", "--throttle", "1000")
    assert shown["scheduled"]["schedule"] == "00:00-24:00 throttle=100"
    assert shown["scheduled"]["seconds"] == pytest.approx(10 * shown["forecast"]["seconds"])
    line = shell.ok("propose", "drain", "6", "--dry-run", "--throttle", "1000").splitlines()[-1]
    assert line.startswith("within the schedule: ")
    shell.ok("schedule", "none")
    assert "schedule" not in shell.ok("propose", "drain", "6", "--dry-run")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--execute", "--dry-run"], "--execute and --dry-run cannot be used together"),
        (["--replan"], "--replan needs --execute"),
        (["--throttle", "5MB"], "--throttle needs --execute or --dry-run"),
        (["--execute", "--throttle", "0"], "Invalid value for '--throttle': '0', expected at least 1 byte"),
        (["--execute", "--timeout", "5"], "--timeout needs --wait or --watch"),
        (["--execute", "--watch", "--output", "x"], "--watch makes several plans"),
    ],
)
def test_options_that_contradict_are_refused(
    options: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["propose", "drain", "1", *options]) == 2
    assert capsys.readouterr().err.startswith(f"reassignd: {error}")


def test_only_drains_are_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["propose", "balance", "--execute", "--watch"]) == 2
    assert capsys.readouterr().err == "reassignd: --watch is for drain\n"


def test_the_json_of_an_execution_ends_with_the_drained_brokers(shell: Shell) -> None:
    lines = shell.ok("propose", "drain", "6", "--execute", "--wait", "--format", "json").splitlines()
    proposal, submitted, drained = map(json.loads, lines)
    assert (proposal["moves"], submitted["accepted"]) == (99, 99)
    assert drained == {"brokers": [{"broker": 6, "replicas": 0, "drained": True}]}
