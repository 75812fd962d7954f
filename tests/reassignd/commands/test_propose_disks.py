"""`reassignd propose disks`."""

import json
from pathlib import Path

import pytest

from controller.model.plan import read_plan
from tests.planner.proposals.disks.builders import disks, with_dir
from tests.reassignd.commands.test_propose import Propose, run

__all__ = ["run"]

UNEVEN = disks(a=[20, 20, 20], b=[], c=[2])


def test_the_moves_are_printed_with_each_directory(run: Propose) -> None:
    code, out, _ = run(UNEVEN, "disks")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("moves 2 replicas between directories (40 B); nothing that comes as near")
    assert lines[2].split() == ["BROKER", "DIRECTORY", "SIZE", "REPLICAS", "USED", "MOVES"]
    assert "60.0 % → 20.0 %" in lines[3]


def test_directories_that_are_even_need_no_moves(run: Propose) -> None:
    assert run(disks(a=[20], b=[20]), "disks")[1].startswith(
        "nothing to move: the directories meet the goal\n"
    )


def test_the_plan_and_its_rollback_name_directories(run: Propose, tmp_path: Path) -> None:
    plan, rollback = tmp_path / "plan.json", tmp_path / "rollback.json"
    files = ("--output", str(plan), "--rollback-file", str(rollback))
    _, out, _ = run(UNEVEN, "disks", "--empty", "1:/a", *files)
    assert f"{plan}: 3 replicas; execute it with kafka-reassign-partitions.sh" in out
    rows = read_plan(json.loads(plan.read_text()))
    assert {row.log_dirs for row in rows} == {("/b",), ("/c",)}
    assert {row.log_dirs for row in read_plan(json.loads(rollback.read_text()))} == {("/a",)}


def test_the_json_has_the_moves_and_the_directories(run: Propose) -> None:
    found = json.loads(run(UNEVEN, "disks", "--format", "json")[1])
    assert (found["bytes"], found["bytes_bound"], len(found["moves"])) == (40, 40, 2)
    assert found["moves"][0].keys() == {"topic", "partition", "broker", "source", "target", "bytes"}
    assert [each["after"] for each in found["dirs"]] == [20, 20, 22]


def test_what_fits_nowhere_is_an_error_after_the_moves_that_are_possible(
    run: Propose, tmp_path: Path
) -> None:
    full, plan = disks(a=[30, 10], b=[60]), tmp_path / "plan.json"
    code, out, err = run(full, "disks", "--empty", "1:/a", "--output", str(plan))
    assert (code, plan.exists()) == (1, False)
    assert out.startswith("moves 1 replica between directories")
    assert "foo-0 on broker 1 has 30 B, which fits nowhere: the largest room is 20 B, in /b\n" in err
    assert run(full, "disks", "--empty", "1:/a", "--allow-partial", "--output", str(plan))[0] == 0
    assert plan.exists()


def test_cordoned_and_unknown_directories_are_marked(run: Propose) -> None:
    _, out, _ = run(with_dir(with_dir(UNEVEN, "/c", cordoned=True), "/d"), "disks")
    assert "broker 1: left as they are: /c (cordoned), /d (of unknown size)\n" in out
    assert "  /c (cordoned)  100 B" in out
    assert "  /d             -" in out


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["disks", "7"], 1, "broker 7 is not in the cluster"),
        (["disks", "drain", "1"], 1, "disks moves nothing between brokers: it cannot be combined with 1"),
        (["drain", "1", "--empty", "1:/a"], 1, "--empty needs disks"),
        (["disks", "--empty", "1:/z"], 1, "broker 1 has no log directory /z; it has /a, /b, /c"),
        (["disks", "--execute", "--replan"], 2, "--replan cannot be used with disks"),
        (["disks", "--execute", "--watch"], 2, "--watch is for drain"),
        (["disks", "--dry-run"], 2, "--dry-run cannot be used with disks"),
        (["disks", "--master", "local[1]"], 2, "disks reads the cluster without Spark"),
        (["disks", "--output", "/nowhere/plan.json"], 1, "cannot write /nowhere/plan.json"),
    ],
)
def test_bad_input_is_named(run: Propose, words: list[str], code: int, error: str) -> None:
    found, _, err = run(UNEVEN, *words)
    assert (found, error in err) == (code, True)
