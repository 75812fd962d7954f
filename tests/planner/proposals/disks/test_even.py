"""`propose disks`: the log directories of a broker are evened out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.model.snapshot import Broker, LogDir, Snapshot, packed
from planner.proposals.disks.result import DirChange, DiskProposal
from planner.proposals.problem.goal import ProposalError
from tests.planner.proposals.disks.builders import (
    carried_out,
    disks,
    moved,
    proposed,
    with_dir,
    with_row,
)

HEADROOM = Fraction(1, 10)


def test_replicas_leave_the_fuller_directory() -> None:
    found = proposed(disks(a=[20, 20, 20], b=[], c=[2]))
    assert sorted(each[1:] for each in moved(found)) == [("/a", "/b"), ("/a", "/c")]
    assert [(each.before, each.after) for each in found.dirs] == [(60, 20), (0, 20), (2, 22)]
    assert (found.bytes, found.bytes_bound) == (40, 40)


def test_directories_within_the_tolerance_stay() -> None:
    assert not proposed(disks(a=[22], b=[20])).moves
    assert proposed(disks(a=[10, 2], b=[5, 1]), tolerance="0%").moves


def test_shares_count_where_directories_differ_in_size() -> None:
    snapshot = with_dir(disks(a=[10] * 6, b=[]), "/b", total=200, usable=200)
    assert [each.after for each in proposed(snapshot).dirs] == [20, 40]


def test_other_files_are_a_part_of_what_is_used() -> None:
    snapshot = with_dir(disks(a=[10] * 4, b=[]), "/b", usable=60)
    assert not proposed(snapshot).moves


def test_two_replicas_are_exchanged_where_no_move_helps() -> None:
    found = proposed(disks(a=[30, 25], b=[20, 15]), tolerance="1%")
    assert [each.after for each in found.dirs] == [45, 45]
    assert found.short == ()


@pytest.mark.parametrize("fields", [{"cordoned": True}, {"total": None}])
def test_a_closed_directory_stays_as_it_is_and_is_named(fields: dict[str, Any]) -> None:
    found = proposed(with_dir(disks(a=[10] * 4, b=[], c=[]), "/c", **fields))
    assert {target for *_, target in moved(found)} == {"/b"}
    assert found.notes[0].startswith("broker 1: left as they are: /c (")


def test_a_cordoned_directory_gives_nothing_however_full_it_is() -> None:
    found = proposed(with_dir(disks(a=[10] * 4, b=[10], c=[]), "/a", cordoned=True), tolerance="0%")
    assert {source for _, source, _ in moved(found)} <= {"/b"}


def test_large_replicas_are_spread_although_no_directory_is_within_its_range_then() -> None:
    found = proposed(disks(a=[20, 20, 20], b=[], c=[], d=[2]))
    assert sorted(each.after or 0 for each in found.dirs) == [2, 20, 20, 20]
    assert len(found.short) == 4


def test_a_directory_without_room_is_named() -> None:
    found = proposed(disks(a=[95], b=[85]))
    assert not found.moves
    assert found.short[0].endswith(
        "at most 90 B: the other directories have no room for more, with the headroom"
    )


def test_a_directory_of_which_nothing_can_move_is_named() -> None:
    found = proposed(with_row(disks(a=[50], b=[]), 0, target=(2,)))
    assert found.short[0].endswith("at most 27 B: none of its replicas can move")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"target": (2,)}, "being reassigned or queued"),
        ({"meanwhile": (2,)}, "being reassigned or queued"),
        ({"target": ()}, "their topic waits for its deletion"),
        ({"failed": (1,)}, "their log directory has failed"),
        ({"log_dirs": None}, "their log directory is not known"),
        ({"log_dirs": ("/z",)}, "their log directory is not known"),
    ],
)
def test_replicas_that_cannot_move_stay_and_are_named(fields: dict[str, Any], reason: str) -> None:
    found = proposed(with_row(disks(a=[10] * 6, b=[]), 3, **fields))
    assert 3 not in [number for number, *_ in moved(found)]
    assert [(each.partition, each.reason) for each in found.left_out] == [(3, reason)]


def test_replicas_that_are_being_moved_count_where_they_will_be() -> None:
    snapshot = disks(a=[10] * 6, b=[])
    for number in range(3):
        snapshot = with_row(snapshot, number, next_dirs=("/b",))
    even = proposed(snapshot)
    assert not even.moves
    assert even.notes == (
        "counted in the directories that they are being moved to: 3 replicas (on brokers 1)",
    )
    found = proposed(snapshot, empty=["1:/a"])
    assert [number for number, *_ in moved(found)] == [3, 4, 5]
    assert [(each.before, each.after, each.replicas_after) for each in found.dirs] == [
        (30, 0, 0),
        (30, 60, 6),
    ]
    back = proposed(snapshot, empty=["1:/b"])
    assert {each.reason for each in back.left_out} == {"being moved to another directory, where they count"}


def test_only_chosen_topics_and_partitions_move() -> None:
    snapshot = disks(a=[10] * 6, b=[])
    assert moved(proposed(snapshot, partitions=[("foo", 4)])) == [(4, "/a", "/b")]
    assert proposed(snapshot, topics="fo+").moves
    with pytest.raises(ProposalError, match="no topic of the cluster is chosen"):
        proposed(snapshot, topics="bar")
    with pytest.raises(ProposalError, match="partition foo-6 is not in the cluster"):
        proposed(snapshot, partitions=[("foo", 6)])


def test_unknown_sizes_count_as_their_leaders_and_are_named() -> None:
    snapshot = with_row(disks(a=[10] * 6, b=[]), 0, packed_sizes=None)
    assert "the sizes of 1 replica are not known (on brokers 1): they count" in proposed(snapshot).notes[-1]
    with pytest.raises(ProposalError, match="the sizes of 1 replica are not known"):
        proposed(snapshot, strict_sizes=True)


def test_the_chosen_brokers_are_evened_out() -> None:
    snapshot = disks(a=[10] * 4, b=[])
    snapshot.brokers[2] = snapshot.brokers[1]._replace(id=2)
    for key, row in snapshot.partitions.items():
        snapshot.partitions[key] = row._replace(
            replicas=(1, 2), packed_sizes=packed([10, 10]), log_dirs=("/a", "/a")
        )
    assert {each.broker for each in proposed(snapshot).moves} == {1, 2}
    assert {each.broker for each in proposed(snapshot, "2").moves} == {2}


@pytest.mark.parametrize(
    ("broker", "error"),
    [
        (None, "broker 2 is not in the cluster"),
        (Broker(2, live=False), "broker 2 is offline"),
        (Broker(2), "the log directories of broker 2 are not known: take a new snapshot"),
        (
            Broker(2, dirs={"/a": LogDir(1, 1)}),
            "broker 2 has one log directory, /a: there is nothing to even",
        ),
        (
            Broker(2, dirs={"/a": LogDir(), "/b": LogDir()}),
            "broker 2 does not report the size of its log dir",
        ),
    ],
)
def test_a_broker_that_cannot_be_evened_out_is_refused_if_it_is_named(
    broker: Broker | None, error: str
) -> None:
    snapshot = disks(a=[10] * 4, b=[])
    if broker is not None:
        snapshot.brokers[2] = broker
        assert proposed(snapshot).moves
    with pytest.raises(ProposalError, match=error):
        proposed(snapshot, "2")


def test_brokers_that_are_left_out_are_named() -> None:
    snapshot = disks(a=[10] * 4, b=[])
    snapshot.brokers[2], snapshot.brokers[3] = Broker(2, live=False), Broker(3)
    snapshot.brokers[4] = Broker(4, dirs={"/a": LogDir(), "/b": LogDir()})
    assert proposed(snapshot).notes == (
        "left as they are: 1 broker: 2: offline",
        "left as they are: 1 broker: 3: their log directories are not known",
        "left as they are: 1 broker: 4: the sizes of their log directories are not known",
    )


@st.composite
def brokers(draw: st.DrawFn, total: int = 200, most: int = 6) -> Snapshot:
    """Draw a broker with two or three directories and up to so many replicas."""
    names = draw(st.sampled_from(["ab", "abc"]))
    size = st.one_of(st.integers(0, 10), st.integers(1, 40))
    snapshot = disks(total, **{name: draw(st.lists(size, max_size=most // len(names))) for name in names})
    for name in names:
        known = (snapshot.brokers[1].dirs or {})[f"/{name}"]
        other = draw(st.integers(0, 60))
        fields = {
            "usable": (known.usable or 0) - other,
            "cordoned": draw(st.sampled_from([False] * 4 + [True])),
        }
        snapshot = with_dir(snapshot, f"/{name}", **fields)
    return snapshot


class Oracle:
    """All ways to place the replicas of broker 1 in the directories that are evened out."""

    def __init__(self, snapshot: Snapshot, found: DiskProposal) -> None:
        self.dirs = [each for each in found.dirs if each.most is not None]
        self.paths = [each.path for each in self.dirs]
        replicas = [
            (row.size, row.log_dirs[0]) for _, row in sorted(snapshot.partitions.items()) if row.log_dirs
        ]
        self.replicas = [(size, home) for size, home in replicas if home in self.paths]
        known = snapshot.brokers[1].dirs or {}
        self.room: dict[str, Fraction] = {
            path: Fraction(0) if each.cordoned else (each.usable or 0) - HEADROOM * (each.total or 0)
            for path, each in known.items()
        }

    def best(self) -> tuple[int, int]:
        """Return the least sum of what is outside of ranges, and the fewest bytes that reach it.

        No directory gets above its range, unless some stay outside of theirs otherwise.
        """
        best = self._best(strict=True)
        return best if not best[0] else min(best, self._best(strict=False), key=lambda each: each[0])

    def _best(self, *, strict: bool) -> tuple[int, int]:
        ways = product(self.paths, repeat=len(self.replicas))
        return min(filter(None, (self._judged(places, strict=strict) for places in ways)))

    def _judged(self, places: tuple[str, ...], *, strict: bool) -> tuple[int, int] | None:
        came, went = Counter[str](), Counter[str]()
        for (size, home), place in zip(self.replicas, places, strict=True):
            if place != home:
                came[place] += size
                went[home] += size
        if any(came[path] and came[path] > self.room[path] for path in self.paths):
            return None
        after = {each.path: (each.before or 0) + came[each.path] - went[each.path] for each in self.dirs}
        if strict and any(after[each.path] > max(each.most or 0, each.before or 0) for each in self.dirs):
            return None
        return outside(self.dirs, after), came.total()


def outside(dirs: Iterable[DirChange], used: Mapping[str, int | None]) -> int:
    """Return the sum of what directories are outside of their ranges."""
    return sum(
        max(0, (used[each.path] or 0) - (each.most or 0), (each.least or 0) - (used[each.path] or 0))
        for each in dirs
    )


@given(brokers(), st.sampled_from(["0%", "5%", "10%", "40%"]))
def test_small_brokers_are_as_even_as_possible_with_the_fewest_bytes(
    snapshot: Snapshot, tolerance: str
) -> None:
    try:
        found = proposed(snapshot, tolerance=tolerance)
    except ProposalError:
        return
    oracle = Oracle(snapshot, found)
    after = {each.path: each.after for each in found.dirs}
    assert (outside(oracle.dirs, after), found.bytes) == oracle.best()
    assert found.fewest_bytes_proven


@given(brokers(2000, 60), st.sampled_from(["0%", "3%", "10%", "40%"]), st.booleans())
def test_moves_stay_on_the_broker_and_another_proposal_finds_nothing(
    snapshot: Snapshot, tolerance: str, exact: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not exact:
            patch.setattr("planner.proposals.disks.exact.MOST_CHOICES", 0)
        try:
            found = proposed(snapshot, tolerance=tolerance)
        except ProposalError:
            return
        after = carried_out(snapshot, found)
        assert not proposed(after, tolerance=tolerance).moves
    assert all(each.source != each.target for each in found.moves)
    assert found.bytes >= found.bytes_bound
    for each in found.dirs:
        most = (each.before or 0) if each.most is None else max(each.most, each.before or 0)
        assert found.short or (each.after or 0) <= most
        assert not (each.cordoned and each.gains)


def unsized(snapshot: Snapshot) -> Snapshot:
    """Return the cluster whose broker does not report the size of its directories."""
    for path in snapshot.brokers[1].dirs or {}:
        snapshot = with_dir(snapshot, path, total=None, usable=None)
    return snapshot


def test_directories_of_unknown_size_count_as_equally_large_if_that_is_allowed() -> None:
    snapshot = unsized(disks(a=[30, 20, 10], b=[], c=[10]))
    with pytest.raises(ProposalError, match="broker 1 does not report the size of its log directories"):
        proposed(snapshot)
    found = proposed(snapshot, allow_unknown=True)
    assert [(each.total, each.before, each.after) for each in found.dirs] == [
        (None, 60, 30),
        (None, 0, 20),
        (None, 10, 20),
    ]
    assert "/a ends with 30 B instead of at most 25 B" in found.short[0]


def test_one_directory_of_unknown_size_gets_nothing_even_if_unknown_is_allowed() -> None:
    found = proposed(with_dir(disks(a=[10] * 4, b=[], c=[]), "/c", total=None), allow_unknown=True)
    assert {target for *_, target in moved(found)} == {"/b"}
