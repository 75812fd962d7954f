import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.model.snapshot import Snapshot, write_snapshot
from reassignd import cli
from tests.planner.proposals.builders import cluster

Propose = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Propose:
    """Runs the command on a snapshot file. Returns the exit code, stdout and stderr."""

    def propose(snapshot: Snapshot, *words: str) -> tuple[int, str, str]:
        path = tmp_path / "cluster.jsonl"
        write_snapshot(snapshot, path)
        code = cli.main(["propose", *words, "--snapshot", str(path)])
        return code, *capsys.readouterr()

    return propose


def replicas(text: str) -> list[list[int]]:
    plan: dict[str, Any] = json.loads(text)
    return [row["replicas"] for row in plan["partitions"]]


def test_a_drain_is_printed_and_written(run: Propose, tmp_path: Path) -> None:
    plan, rollback = tmp_path / "plan.json", tmp_path / "rollback.json"
    files = ("--output", str(plan), "--rollback-file", str(rollback))
    code, out, _ = run(cluster("---", (1, 2), (2, 3)), "drain", "1", *files)
    assert (code, out.splitlines()[0]) == (0, "moves 1 replica (1 B); no plan can do with fewer")
    assert replicas(plan.read_text()) == [[2, 3]]
    assert replicas(rollback.read_text()) == [[1, 2]]


def test_the_json_has_the_plan(run: Propose) -> None:
    _, out, _ = run(cluster("---", (1, 2)), "drain", "1", "--format", "json")
    assert replicas(json.dumps(json.loads(out)["plan"])) == [[2, 3]]


def test_a_dry_run_of_a_snapshot_forecasts_under_the_given_limits(run: Propose) -> None:
    dry = "drain", "1", "--dry-run", "--format", "json"
    waves = [
        json.loads(run(cluster("---", (1, 2), (1, 2)), *dry, *limits)[1])["forecast"]["waves"]
        for limits in ([], ["--limits", "P=1"])
    ]
    assert waves == [1, 2]


def test_a_balance_keeps_leaders_when_asked_to(run: Propose) -> None:
    lopsided = cluster("--", (1, 2), (1, 2))
    assert "nothing to move" not in run(lopsided, "balance")[1]
    assert "nothing to move" in run(lopsided, "balance", "--leaders", "keep")[1]


def test_topics_are_chosen_by_patterns(run: Propose) -> None:
    both = cluster("---", (1, 2))
    both.partitions["bar", 0] = both.partitions["foo", 0]._replace(topic="bar")
    for options in (["--topics", "ba."], ["--exclude-topics", "fo+"]):
        plan = json.loads(run(both, "drain", "1", *options, "--format", "json")[1])["plan"]
        assert [row["topic"] for row in plan["partitions"]] == ["bar"]


def test_excluded_brokers_get_nothing(run: Propose) -> None:
    _, out, _ = run(cluster("----", (1, 2)), "drain", "1", "--exclude-brokers", "3", "--format", "json")
    assert json.loads(out)["plan"]["partitions"][0]["replicas"] == [2, 4]


def test_the_tolerance_and_the_budget_limit_the_moves(run: Propose) -> None:
    full = cluster("--", *[(1,)] * 10)
    figures = [
        json.loads(run(full, "balance", *options, "--format", "json")[1])["moves"]
        for options in ([], ["--tolerance", "40%"], ["--max-moves", "1"])
    ]
    assert figures == [4, 3, 1]


def test_racks_are_repaired_unless_they_are_disabled(run: Propose) -> None:
    same_rack = cluster("aab", (1, 2))
    assert "moves 1 replica" in run(same_rack, "racks")[1]
    assert "moves 1 replica" in run(same_rack, "leaders", "--fix-racks")[1]
    assert "nothing to move" in run(same_rack, "racks", "--disable-rack-aware")[1]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["drain", "7"], "reassignd: broker 7 is not in the cluster\n"),
        (["drain", "1,2"], "reassignd: foo-0 needs 2 replicas, but the brokers that can hold it are: 3\n"),
        (["drain", "1", "--weight", "x"], "reassignd: weight 'x': expected ID=FACTOR"),
        (["drain", "1", "--topics", "("], "reassignd: --topics '(' is not a regular expression"),
        (["drain", "1", "--topics", "bar"], "reassignd: no topic of the cluster is chosen by --topics 'bar'"),
        (["drain", "1", "add", "1"], "reassignd: broker 1 cannot be both drained and added"),
        (["rf", "4"], "reassignd: foo-0 needs 4 replicas, but the brokers that can hold it are: 1, 2, 3"),
        (["add", "9"], "reassignd: broker 9 is not in the cluster"),
    ],
)
def test_the_error_names_each_obstacle(run: Propose, tmp_path: Path, words: list[str], error: str) -> None:
    code, out, err = run(cluster("---", (1, 2)), *words, "--output", str(tmp_path / "plan.json"))
    assert (code, out) == (1, "")
    assert err.startswith(error)
    assert not (tmp_path / "plan.json").exists()


def test_racks_of_some_brokers_only_are_refused(run: Propose) -> None:
    code, out, err = run(cluster("a-b", (1, 2)), "drain", "1")
    assert (code, out) == (1, "")
    assert err.startswith("reassignd: brokers 2 have no rack but others do")
    assert run(cluster("a-b", (1, 2)), "drain", "1", "--disable-rack-aware")[0] == 0


def test_a_snapshot_with_a_hole_is_refused(run: Propose) -> None:
    snapshot = cluster("--", (1,), (1,))
    del snapshot.partitions["foo", 0]
    code, out, err = run(snapshot, "drain", "1")
    assert (code, out) == (1, "")
    assert (
        err == "reassignd: the snapshot is not complete: topic foo has no partition 0; take a new snapshot\n"
    )


def test_partitions_with_the_same_cause_are_one_line(run: Propose) -> None:
    lines = run(cluster("--", *[(1, 2)] * 30), "drain", "1")[2].splitlines()
    cause = "need 2 replicas, but the brokers that can hold them are: 2"
    assert lines == [f"reassignd: foo-0 and 29 more partitions {cause}"]


def test_many_reasons_are_counted(run: Propose) -> None:
    unknown = ",".join(map(str, range(10, 40)))
    lines = run(cluster("--", (1, 2)), "drain", unknown)[2].splitlines()
    assert (len(lines), lines[-1]) == (21, "reassignd: and 10 more reasons")


def test_spark_is_not_started_for_a_small_cluster(run: Propose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.propose.running", None)
    assert run(cluster("---", (1, 2)), "drain", "1", "--master", "local[2]")[0] == 0


def test_what_spark_needs_is_named(run: Propose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.propose.MAX_INLINE_PARTITIONS", 0)
    monkeypatch.setattr("reassignd.commands.plan.obstacle", lambda _: "install it")
    code, _, err = run(cluster("---", (1, 2)), "drain", "1", "--master", "local[2]")
    assert (code, err) == (1, "reassignd: no Spark: install it\n")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_files_are_the_same_with_spark(run: Propose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.propose.MAX_INLINE_PARTITIONS", 0)
    for name, where in (("inline", ()), ("spark", ("--master", "local[2]"))):
        files = ("--output", str(tmp_path / name), "--rollback-file", str(tmp_path / f"{name}-back"))
        assert run(cluster("---", (1, 2), (2, 3), (1, 3)), "drain", "1", *files, *where)[0] == 0
    for end in ("", "-back"):
        assert (tmp_path / f"spark{end}").read_bytes() == (tmp_path / f"inline{end}").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--remote", "sc://localhost"], "--master and --remote cannot be used together"),
        (["--dry-run"], "--dry-run cannot be used with Spark"),
        (["--execute", "--watch"], "--watch cannot be used with Spark"),
    ],
)
def test_options_that_spark_does_not_have_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["propose", "drain", "1", "--master", "local", *options]) == 2
    assert message in capsys.readouterr().err


FULL = cluster("---", (1,), (1,), sizes={0: 60, 1: 30})
FULL.brokers.update({each: FULL.brokers[each]._replace(disk_bytes=100) for each in (1, 2, 3)})
"""Broker 1 is 90 % full."""


def test_a_full_broker_is_relieved_by_name_or_above_a_level(run: Propose) -> None:
    for arguments in (("relieve", "1", "--to", "60%"), ("--relieve", "85%:60%")):
        code, out, _ = run(FULL, *arguments)
        assert (code, out.splitlines()[0]) == (0, "moves 1 replica (30 B); no plan can do with fewer")
        assert "broker 1: disks 90.0 % full, then 60.0 %\n" in out
    assert run(FULL, "--relieve", "95%:60%")[1].startswith("nothing to move")


def test_a_level_that_is_not_reached_prints_the_nearest_plan_and_writes_nothing(
    run: Propose, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    code, out, err = run(FULL, "relieve", "1", "--to", "40%", "--output", str(plan))
    assert (code, out.splitlines()[0], plan.exists()) == (
        1,
        "moves 1 replica (30 B); no plan can do with fewer",
        False,
    )
    assert "broker 1 stays 60.0 % full instead of 40 %" in err
    assert run(FULL, "relieve", "1", "--to", "40%", "--allow-partial", "--output", str(plan))[0] == 0
    assert plan.exists()


def test_a_proposal_needs_a_goal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["propose"]) == 2
    assert "GOAL" in capsys.readouterr().err
