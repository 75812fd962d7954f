"""Replicas of a partition that differ in size."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.model.snapshot import Broker, LogDir, Partition, Snapshot, packed
from planner.plan import forecast
from planner.proposals.problem.goal import Goal, Measure, Minimized, Problem, ProposalError, problem_of
from planner.proposals.result import Proposal
from planner.proposing import propose, propose_for, read_goal_options
from tests.planner.proposals.builders import carried_out, cluster, problems

CORDONED = LogDir(1000, 900, cordoned=True)


def sized(snapshot: Snapshot, **sizes: tuple[int | None, ...]) -> Snapshot:
    """Return the cluster with the own sizes of replicas of foo-N, given as `foo_N`."""
    rows = {
        key: row._replace(packed_sizes=packed(sizes.get(f"foo_{row.partition}")))
        for key, row in snapshot.partitions.items()
    }
    return snapshot._replace(partitions=rows)


def proposed(snapshot: Snapshot, *goals: str, **options: object) -> Proposal:
    return propose_for(snapshot, read_goal_options(goals, options))


def loads(proposal: Proposal) -> dict[int, tuple[int, int]]:
    """Return the bytes of each broker before and after."""
    return {each.broker: (each.before.bytes, each.after.bytes) for each in proposal.brokers}


def test_a_follower_that_is_larger_than_its_leader_frees_its_own_size() -> None:
    snapshot = sized(cluster("---", [1, 2], sizes={0: 100}), foo_0=(100, 900))
    found = proposed(snapshot, "drain", "2")
    assert (found.bytes, loads(found)) == (100, {1: (100, 100), 2: (900, 0), 3: (0, 100)})


def test_bytes_are_even_by_the_replicas_that_brokers_have() -> None:
    lists = [[1, 2], [3, 2], [1, 2], [3, 2]]
    whole = cluster("---", *lists, sizes=dict.fromkeys(range(4), 100))
    assert not proposed(whole, "balance", by="bytes", byte_tolerance="50%").moves
    snapshot = sized(whole, foo_0=(100, 700), foo_1=(100, 700))
    found = loads(proposed(snapshot, "balance", by="bytes", byte_tolerance="50%"))
    assert found[2][0] == 1600
    assert found[2][1] < found[2][0]


def test_a_disk_is_as_full_as_its_broker_says() -> None:
    snapshot = cluster("---", [1, 2], sizes={0: 100})
    full = Broker(3, None, disk_bytes=1000, dirs={"/a": LogDir(1000, 150)})
    snapshot.brokers[3] = full
    with pytest.raises(ProposalError, match="would receive 100 B, but has room for 50 B"):
        proposed(snapshot, "drain", "1")
    snapshot.brokers[3] = full._replace(dirs={"/a": LogDir(1000, 250), "/b": CORDONED})
    assert proposed(snapshot, "drain", "1").moves == 1
    snapshot.brokers[3] = full._replace(dirs={"/b": CORDONED})
    with pytest.raises(ProposalError, match="the brokers that can hold it are"):
        proposed(snapshot, "drain", "1")


@pytest.mark.parametrize("closed", [{"excluded": True}, {"cordoned": True}, {"dirs": {"/a": CORDONED}}])
def test_an_excluded_or_cordoned_broker_receives_nothing(closed: dict[str, Any]) -> None:
    snapshot = cluster("----", [1, 2], [1, 2], [1, 2])
    snapshot.brokers[3] = Broker(3, **closed)
    for goal in (("drain", "1"), ("balance",)):
        found = proposed(snapshot, *goal)
        assert found.moves > 0
        assert all(3 not in new for new in found.changes.values())


def test_a_broker_that_is_added_again_is_not_excluded_any_more() -> None:
    snapshot = cluster("---", [1, 2], [1, 2], [1, 2])
    snapshot.brokers[3] = Broker(3, None, excluded=True, dirs={"/a": CORDONED})
    assert proposed(snapshot, "add", "3").moves > 0
    snapshot.brokers[3] = Broker(3, None, dirs={"/a": CORDONED})
    with pytest.raises(ProposalError, match=r"broker 3 is cordoned \(cordoned.log.dirs\): end that first"):
        proposed(snapshot, "add", "3")


def test_sizes_that_are_not_known_are_named_and_count_as_the_leaders() -> None:
    snapshot = sized(cluster("---", [1, 2], [2, 3], sizes={0: 100, 1: 10}), foo_0=(100, None))
    found = proposed(snapshot, "drain", "2")
    assert loads(found)[2] == (110, 0)
    assert found.notes[-1] == (
        "the sizes of 3 replicas are not known (on brokers 2, 3): they count as their leaders', or 0 B where"
        " that is not known"
    )


def test_sizes_that_are_not_known_can_be_refused() -> None:
    with pytest.raises(ProposalError, match=r"the sizes of 1 replica are not known \(on brokers 2\)$"):
        proposed(sized(cluster("--", [1, 2]), foo_0=(9, None)), "leaders", strict_sizes=True)
    with pytest.raises(ProposalError, match="the sizes of 2 replicas are not known"):
        proposed(cluster("--", [1, 2]), "leaders", strict_sizes=True)
    assert not proposed(cluster("--", [1, 2]), "leaders").notes


def test_a_leader_of_unknown_size_counts_as_the_largest_replica() -> None:
    row = Partition("foo", 0, (1, 2), (1, 2), 1, None, packed_sizes=packed((None, 70)))
    snapshot = Snapshot({each: Broker(each) for each in (1, 2, 3)}, {("foo", 0): row})
    assert proposed(snapshot, "drain", "2").bytes == 70


def test_only_the_local_part_of_a_tiered_topic_is_copied() -> None:
    snapshot = cluster("---", [1, 2], [1, 2])
    snapshot.partitions["foo", 0] = snapshot.partitions["foo", 0]._replace(tiered=True)
    found = proposed(snapshot, "drain", "2")
    expected = "2 partitions to copy in tiered topics: only the local part counts and is copied"
    assert found.notes == (expected,)
    targets = [((row.topic, row.partition), new) for row, new in found.changes.items()]
    assert forecast(targets, snapshot).tiered_partitions == 1


def test_the_forecast_has_the_bytes_that_brokers_hold() -> None:
    snapshot = sized(cluster("---", [1, 2], sizes={0: 100}), foo_0=(100, 900))
    found = forecast([(("foo", 0), (1, 3))], snapshot)
    held = {each["broker"]: (each["before"]["bytes"], each["after"]["bytes"]) for each in found.brokers}
    assert (found.bytes, held) == (100, {1: (100, 100), 2: (900, 0), 3: (0, 100)})


@st.composite
def differing(draw: st.DrawFn) -> tuple[Snapshot, Goal]:
    """Draw a cluster whose replicas differ in size, and a goal of even bytes."""
    count = draw(st.integers(3, 6))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=3, unique=True)
    lists = draw(st.lists(ids, min_size=1, max_size=12))
    sizes = draw(st.lists(st.integers(0, 50), min_size=len(lists), max_size=len(lists)))
    snapshot = cluster("-" * count, *lists, sizes=dict(enumerate(sizes)))
    size = st.one_of(st.none(), st.integers(0, 100))
    own = {f"foo_{number}": draw(st.tuples(*[size] * len(each))) for number, each in enumerate(lists)}
    measures: list[Measure] = ["bytes", "both", "replicas"]
    least: list[Minimized] = ["moves", "bytes"]
    by, minimize = draw(st.sampled_from(measures)), draw(st.sampled_from(least))
    tolerance = draw(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2)]))
    goal = Goal(even_counts=True, by=by, tolerance=tolerance, minimize=minimize)
    return sized(snapshot, **own), goal


@given(differing())
def test_what_a_plan_says_of_brokers_is_what_they_hold(drawn: tuple[Snapshot, Goal]) -> None:
    snapshot, goal = drawn
    problem = problem_of(snapshot, goal)
    found = propose(problem)
    held = dict.fromkeys(snapshot.brokers, 0)
    changes = {row[:2]: replicas for row, replicas in found.changes.items()}
    copied = 0
    for key, row in snapshot.partitions.items():
        new = changes.get(key, row.replicas)
        copied += row.size * len(set(new) - set(row.replicas))
        for broker in new:
            held[broker] += row.size_on(broker)
    assert {each.broker: each.after.bytes for each in found.brokers} == held
    assert found.bytes == copied


@given(differing())
def test_plans_that_are_carried_out_come_to_an_end(drawn: tuple[Snapshot, Goal]) -> None:
    snapshot, goal = drawn
    moves = [-1]
    while moves[-1] and len(moves) < 12:
        found = propose(problem_of(snapshot, goal))
        snapshot = carried_out(snapshot, found)
        moves.append(found.moves)
    assert moves[-1] == 0


@given(problems())
def test_sizes_that_are_those_of_the_leaders_change_no_plan(problem: Problem) -> None:
    table = problem.table
    assert (table.own == table.bytes[:, None]).all()
    same = problem._replace(table=table._replace(own=table.own.copy()))
    assert propose(problem) == propose(same)
