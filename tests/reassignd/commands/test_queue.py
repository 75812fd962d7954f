import json
from pathlib import Path
from typing import Any

import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import MissingSolverError
from reassignd import cli
from reassignd.commands import queue
from tests.planner.proposals.builders import cluster

LOPSIDED = cluster("----", *[(1, 2)] * 12)
"""24 replicas on two of four brokers; 12 moves make them even."""


def generated(
    snapshot: Snapshot,
    brokers: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *options: str,
) -> list[Any]:
    monkeypatch.setattr(queue, "read_server", lambda _: snapshot)
    topics = folder / "topics.json"
    topics.write_text('{"version":1,"topics":[{"topic":"foo"}]}')
    command = ["queue", "generate", "--topics-to-move-json-file", str(topics), "--broker-list", brokers]
    assert cli.main([*command, *options, "--format", "json"]) == 0
    plan: list[Any] = json.loads(capsys.readouterr().out)["proposed"]["partitions"]
    return [row["replicas"] for row in plan]


def moves(snapshot: Snapshot, lists: list[list[int]]) -> int:
    before = [row.replicas for _, row in sorted(snapshot.partitions.items())]
    return sum(len({*new} - {*old}) for old, new in zip(before, lists, strict=True))


def test_a_generated_plan_moves_the_fewest_replicas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert moves(LOPSIDED, generated(LOPSIDED, "1,2,3,4", tmp_path, monkeypatch, capsys)) == 12


def test_racks_are_obeyed_unless_they_are_disabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    same_rack = cluster("aabb", (1, 2), (3, 4), (1, 2), (3, 4))
    assert moves(same_rack, generated(same_rack, "1,2,3,4", tmp_path, monkeypatch, capsys)) == 4
    without = generated(same_rack, "1,2,3,4", tmp_path, monkeypatch, capsys, "--disable-rack-aware")
    assert moves(same_rack, without) == 0


def test_without_the_solver_replicas_are_placed_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_: Any) -> Any:
        raise MissingSolverError

    monkeypatch.setattr(queue, "propose", missing)
    even = cluster("----", *[(1, 2), (3, 4)] * 6)
    lists = generated(even, "1,2,3,4", tmp_path, monkeypatch, capsys)
    assert moves(even, lists) > 0
    assert all(len(set(replicas)) == 2 for replicas in lists)
