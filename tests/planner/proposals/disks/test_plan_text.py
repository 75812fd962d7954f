"""Moves between log directories as plans."""

import json

from controller.model.plan import read_plan
from planner.proposals.disks.plan_text import moves_json, plan_json, rollback_json
from planner.proposals.disks.result import DirMove, DiskProposal

MOVES = (
    DirMove("foo", 0, 1, "/a", "/b", 10),
    DirMove("foo", 0, 3, "/c", "/a", 20),
    DirMove("foo", 2, 2, "/a", "/b", 30),
)
PROPOSAL = DiskProposal(MOVES, (), {("foo", 0): (3, 2, 1), ("foo", 2): (2,)}, bytes_bound=60)


def dirs(plan: str) -> list[tuple[int, tuple[int, ...], tuple[str, ...]]]:
    return [(each.partition, each.replicas, each.log_dirs) for each in read_plan(json.loads(plan))]


def test_a_partition_is_one_row_that_names_the_directories_of_what_moves() -> None:
    assert dirs(plan_json(PROPOSAL)) == [(0, (3, 2, 1), ("/a", "any", "/b")), (2, (2,), ("/b",))]


def test_the_rollback_names_the_directories_of_before() -> None:
    assert dirs(rollback_json(PROPOSAL)) == [(0, (3, 2, 1), ("/c", "any", "/a")), (2, (2,), ("/a",))]


def test_the_moves_are_rows_with_all_their_fields() -> None:
    rows = json.loads(moves_json(MOVES))["moves"]
    assert [DirMove(**row) for row in rows] == list(MOVES)


def test_fewest_bytes_are_proven_by_the_bound() -> None:
    assert PROPOSAL.fewest_bytes_proven
    assert not PROPOSAL._replace(bytes_bound=59).fewest_bytes_proven
