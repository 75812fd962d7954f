"""`propose disks --empty`: the replicas of log directories leave for others of the same broker."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.disk_proposing import read_disk_goal
from planner.model.snapshot import Broker, LogDir, Snapshot
from planner.proposals.disks.result import PartialDisksError
from planner.proposals.problem.goal import ProposalError
from tests.planner.proposals.disks.builders import (
    carried_out,
    disks,
    moved,
    proposed,
    with_dir,
    with_row,
)


def test_all_replicas_leave_and_the_others_get_evenly_full() -> None:
    found = proposed(disks(a=[30, 20, 10, 0], b=[10], c=[]), empty=["1:/a"])
    assert [(each.replicas_after, each.after) for each in found.dirs] == [(0, 0), (3, 40), (2, 30)]
    assert (found.bytes, found.bytes_bound, found.short) == (60, 60, ())


def test_several_directories_are_emptied_at_once() -> None:
    for empty in (["1:/a,1:/b"], ["1:/a", "1:/b"]):
        found = proposed(disks(a=[30], b=[10], c=[5], d=[]), empty=empty)
        assert {(source, target) for _, source, target in moved(found)} == {("/a", "/d"), ("/b", "/c")}


def test_a_path_may_have_commas_and_colons() -> None:
    goal = read_disk_goal(["disks"], {"empty": ["1:/a,b:c,2:/d"]})
    assert goal.empty == ((1, "/a,b:c"), (2, "/d"))


@pytest.mark.parametrize("fields", [{"cordoned": True}, {"total": None}])
def test_a_closed_directory_gets_nothing_and_is_named(fields: dict[str, Any]) -> None:
    found = proposed(
        with_dir(disks(a=[10, 10], b=[], c=[70]), "/b", **fields), empty=["1:/a"], relieve_to="90%"
    )
    assert {target for *_, target in moved(found)} == {"/c"}
    assert found.notes[0].startswith("broker 1: these get nothing: /b (")


def test_a_cordoned_directory_can_be_emptied() -> None:
    assert moved(proposed(with_dir(disks(a=[10], b=[]), "/a", cordoned=True), empty=["1:/a"]))


def test_a_replica_that_fits_nowhere_is_named() -> None:
    snapshot = disks(a=[30, 10], b=[60], c=[70])
    with pytest.raises(PartialDisksError) as caught:
        proposed(snapshot, empty=["1:/a"])
    assert caught.value.reasons == [
        "broker 1: /a keeps 1 replica (30 B) for which the other directories have no room below 80 %: foo-0",
        "foo-0 on broker 1 has 30 B, which fits nowhere: the largest room is 20 B, in /b",
        "--allow-partial accepts moves that leave them there",
    ]
    assert moved(caught.value.proposal) == [(1, "/a", "/b")]
    assert moved(proposed(snapshot, empty=["1:/a"], allow_partial=True)) == [(1, "/a", "/b")]


def test_the_level_can_be_chosen() -> None:
    assert proposed(disks(a=[30], b=[60]), empty=["1:/a"], relieve_to="90%").moves
    with pytest.raises(PartialDisksError, match="the largest room is 0 B, in /b"):
        proposed(disks(a=[30], b=[60]), empty=["1:/a"], relieve_to="50%")


def test_a_directory_that_nothing_can_receive_for_is_told() -> None:
    closed = with_dir(disks(a=[30], b=[]), "/b", cordoned=True)
    with pytest.raises(PartialDisksError, match="fits nowhere: none may receive anything"):
        proposed(closed, empty=["1:/a"])


def test_room_is_used_up_where_evenly_full_directories_leave_too_little() -> None:
    found = proposed(disks(a=[20, 20, 30], b=[40], c=[50]), empty=["1:/a"])
    assert [each.after for each in found.dirs] == [0, 80, 80]


def test_replicas_that_are_being_reassigned_stay_and_are_named() -> None:
    found = proposed(with_row(disks(a=[10, 10], b=[]), 0, target=(2,)), empty=["1:/a"])
    assert moved(found) == [(1, "/a", "/b")]
    assert [(each.partition, each.reason) for each in found.left_out] == [(0, "being reassigned or queued")]


@pytest.mark.parametrize(
    ("empty", "error"),
    [
        ("2:/a", "broker 2 is not in the cluster"),
        ("1:/z", "broker 1 has no log directory /z; it has /a, /b"),
        ("1:/a,1:/b", "broker 1: these are all of its log directories, and none is left for the replicas"),
        (
            "3:/a",
            "broker 3 has one log directory, /a: its replicas have to leave the broker, by `propose drain 3`",
        ),
        ("4:/a", "broker 4 is offline"),
        ("5:/a", "the log directories of broker 5 are not known: take a new snapshot"),
        ("x", "--empty 'x': expected BROKER:DIRECTORY, such as 3:/data2"),
        ("1:", "--empty '1:': expected BROKER:DIRECTORY"),
    ],
)
def test_what_cannot_be_emptied_is_refused_by_name(empty: str, error: str) -> None:
    snapshot = disks(a=[10], b=[])
    snapshot.brokers[3] = Broker(3, dirs={"/a": LogDir(1, 1)})
    snapshot.brokers[4], snapshot.brokers[5] = Broker(4, live=False), Broker(5)
    with pytest.raises(ProposalError, match=error):
        proposed(snapshot, empty=[empty])


@pytest.mark.parametrize(
    ("words", "options", "error"),
    [
        (["disks", "drain", "3"], {}, "disks moves nothing between brokers: it cannot be combined with 3"),
        (
            ["drain", "3", "disks"],
            {},
            "disks moves nothing between brokers: it cannot be combined with drain",
        ),
        (["disks", "x"], {}, "disks 'x': expected different broker ids"),
        (["disks", "1"], {"empty": ["1:/a"]}, "--empty names the brokers: leave out 1"),
        (["disks"], {"by": "in"}, "--by cannot be used with disks"),
        (["disks"], {"weights": ["1=2"]}, "--weight cannot be used with disks"),
        (["disks"], {"relieve_to": "80%"}, "--to needs --empty"),
        (["disks"], {"empty": ["1:/a"], "tolerance": "5%"}, "--tolerance cannot be used with disks --empty"),
        (["disks"], {"headroom": "x"}, "--headroom 'x': expected a percentage below 100%"),
    ],
)
def test_options_that_have_no_meaning_are_refused(
    words: list[str], options: dict[str, Any], error: str
) -> None:
    with pytest.raises(ProposalError, match=error):
        read_disk_goal(words, options)


def test_directories_of_unknown_size_have_room_for_all_if_that_is_allowed() -> None:
    snapshot = disks(a=[30, 20], b=[10])
    for path in ("/a", "/b"):
        snapshot = with_dir(snapshot, path, total=None, usable=None)
    with pytest.raises(ProposalError, match="--allow-unknown takes them as equally large"):
        proposed(snapshot, empty=["1:/a"])
    found = proposed(snapshot, empty=["1:/a"], allow_unknown=True)
    assert [(each.before, each.after) for each in found.dirs] == [(50, 0), (10, 60)]


@st.composite
def brokers(draw: st.DrawFn) -> Snapshot:
    """Draw a broker with three directories that are partly full."""
    size = st.one_of(st.integers(0, 10), st.integers(1, 60))
    sizes = {name: draw(st.lists(size, max_size=most)) for name, most in (("a", 5), ("b", 1), ("c", 1))}
    snapshot = disks(200, **sizes)
    for name, each in sizes.items():
        snapshot = with_dir(snapshot, f"/{name}", usable=200 - sum(each) - draw(st.integers(0, 100)))
    return snapshot


@given(brokers())
def test_a_small_directory_is_emptied_as_far_as_possible(snapshot: Snapshot) -> None:
    found = proposed(snapshot, empty=["1:/a"], allow_partial=True)
    leaving = [row.size for row in snapshot.partitions.values() if row.log_dirs == ("/a",)]
    known = snapshot.brokers[1].dirs or {}
    rooms = [160 - (200 - (known[path].usable or 0)) for path in ("/b", "/c")]
    best = 0
    for places in product((0, 1, 2), repeat=len(leaving)):
        arriving = [
            sum(size for size, each in zip(leaving, places, strict=True) if each == place) for place in (1, 2)
        ]
        if all(got <= max(0, room) for got, room in zip(arriving, rooms, strict=True)):
            best = max(best, sum(arriving))
    assert found.bytes == best
    assert (found.short == ()) == (best == sum(leaving))
    assert not proposed(carried_out(snapshot, found), empty=["1:/a"], allow_partial=True).moves
