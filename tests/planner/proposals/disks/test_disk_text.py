"""Moves between log directories in words."""

from planner.proposals.disks.disk_text import HEAD, as_dict, dir_rows, summary
from planner.proposals.disks.result import DirChange, DirMove, DiskProposal, LeftReplica

MOVES = (DirMove("foo", 0, 1, "/a", "/b", 2048), DirMove("foo", 1, 1, "/a", "/b", 1024))
PROPOSAL = DiskProposal(MOVES, (), {}, bytes_bound=3072)


def test_the_bound_is_told() -> None:
    (line,) = summary(PROPOSAL)
    assert line.startswith("moves 2 replicas between directories (3 KiB); nothing that comes as near to the")
    assert line.endswith("copies fewer bytes")
    found = PROPOSAL._replace(bytes_bound=1024)
    assert summary(found)[0].endswith("copies fewer than 1 KiB")
    assert (as_dict(found)["moves"], as_dict(found)["fewest_bytes_proven"]) == (2, False)


def test_what_is_left_is_told_by_reason() -> None:
    left = tuple(LeftReplica("foo", number, 1, "being reassigned or queued") for number in range(7))
    found = DiskProposal((), (), {}, left, short=("broker 1: /a is too full",), notes=("a note",))
    names = ", ".join(f"foo-{number} on broker 1" for number in range(5))
    assert summary(found) == [
        "nothing to move: nothing comes nearer to the goal",
        "broker 1: /a is too full",
        "a note",
        f"left out, being reassigned or queued: 7 replicas: {names} and 2 more",
    ]


def test_what_is_used_of_a_directory_is_a_part_of_it_or_bytes_if_that_is_little() -> None:
    change = DirChange(1, "/a", 1000, 500, 4, 1, 0)
    found = [dict(zip(HEAD, row, strict=True)) for row in dir_rows(PROPOSAL._replace(dirs=(change,)))]
    assert found[0]["used"] == "50.0 % → 0.4 %"
    [row] = dir_rows(PROPOSAL._replace(dirs=(change._replace(before=9),)))
    assert row[4] == "9 B → 4 B"


def test_many_lines_are_cut() -> None:
    lines = summary(DiskProposal((), (), {}, short=tuple(f"line {number}" for number in range(25))))
    assert lines[-2:] == ["line 19", "and 5 more lines like these"]


def test_a_directory_of_unknown_size_has_no_figures() -> None:
    found = PROPOSAL._replace(dirs=(DirChange(1, "/a", None, None, None, 2, 0, losses=2),))
    assert list(dir_rows(found)) == [("1", "/a", "-", "2 → 0", "-", "+0 −2")]
