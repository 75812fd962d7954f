from fractions import Fraction

import pytest

from planner.model.snapshot import Load
from planner.proposals.problem.goal import Goal, LoadName, problem_of
from planner.proposals.problem.loads import (
    leader_ranges,
    on_leaders,
    on_replicas,
    replica_ranges,
    unknown_rates,
    weights_of,
)
from tests.planner.proposals.builders import cluster, failing, loaded

BY_LOAD = Goal(even_counts=True, loads=("in", "out"), tolerance=Fraction(1, 10), at="now")
THREE = loaded(cluster("---", (1, 2), (1, 3)), 100, 50)


def test_a_leader_sends_to_its_followers_and_to_consumers() -> None:
    table = problem_of(THREE, BY_LOAD).table
    assert weights_of(table, BY_LOAD, "out").tolist() == [300, 150]
    assert on_leaders(table, BY_LOAD, "out", table.free).tolist() == [450, 0, 0]
    assert on_leaders(table, BY_LOAD, "leaders-in", table.free).tolist() == [150, 0, 0]


def test_every_replica_gets_what_producers_write() -> None:
    table = problem_of(THREE, BY_LOAD).table
    assert on_replicas(table, BY_LOAD, "in", table.free).tolist() == [150, 100, 50]


def test_a_range_is_around_the_fair_share() -> None:
    problem = problem_of(THREE, BY_LOAD)
    assert replica_ranges(problem, "in")[1].range == (90, 110)
    assert leader_ranges(problem, "out")[1].range == (135, 165)


def test_a_load_has_a_tolerance_of_its_own() -> None:
    goal = BY_LOAD._replace(tolerance_of={"in": Fraction(1, 2)})
    assert replica_ranges(problem_of(THREE, goal), "in")[1].range == (50, 150)


def test_own_topics_need_no_rates() -> None:
    problem = problem_of(loaded(cluster("--", (1,), (2,)), 100, None), BY_LOAD)
    table = problem.table._replace(topics=["__reassignd_canary"])
    assert unknown_rates(problem._replace(table=table)) == ("", "")


def test_partitions_without_rates_are_named() -> None:
    snapshot = loaded(cluster("--", (1,), (2,)), 100, None)
    expected = "1 partition without its rate of the last minutes: foo-1"
    assert unknown_rates(problem_of(snapshot, BY_LOAD)) == (expected, "")
    assert unknown_rates(problem_of(snapshot, BY_LOAD._replace(loads=("bytes",)))) == ("", "")
    nothing = problem_of(cluster("--", (1,), (2,)), BY_LOAD._replace(at="busy"))
    assert unknown_rates(nothing).needed == "2 partitions without their rates of the busy hour: foo-0, foo-1"


@pytest.mark.parametrize(
    ("loads", "closed", "needed"),
    [
        (("in",), {2}, True),
        (("out",), {2}, False),
        (("in",), {2, 3}, False),
        (("out", "cpu"), {2, 3}, False),
        (("out", "cpu"), {2}, True),
    ],
)
def test_a_rate_is_needed_where_a_broker_with_the_load_may_receive(
    loads: tuple[LoadName, ...], closed: set[int], needed: bool
) -> None:
    snapshot = loaded(cluster("---", (1,), (2, 3)), 100, None)
    goal = BY_LOAD._replace(loads=loads, receive_nothing=frozenset(closed))
    foo_1 = problem_of(snapshot, goal, moving={("foo", 1)})
    assert [bool(each) for each in unknown_rates(foo_1)] == [needed, not needed]


def test_the_rates_of_a_relieved_broker_are_needed_also_if_it_may_get_nothing() -> None:
    snapshot = loaded(cluster("---", (1,), (2,)), 100, None)
    goal = BY_LOAD._replace(even_counts=False, relieve=frozenset({2}), receive_nothing=frozenset({2}))
    problem = problem_of(snapshot, goal._replace(relieve_loads=True), moving={("foo", 1)})
    assert unknown_rates(problem).needed


def test_a_partition_that_stays_without_a_leader_needs_no_rate() -> None:
    snapshot = loaded(cluster("---", (1,), (2,)), 100, None)
    dead = failing(snapshot, offline={2})
    dead.partitions["foo", 1] = dead.partitions["foo", 1]._replace(leader=-1)
    named = "1 partition without its rate of the last minutes: foo-1"
    assert unknown_rates(problem_of(dead, BY_LOAD)) == ("", named)


def test_nobody_writes_to_a_topic_that_waits_for_its_deletion() -> None:
    snapshot = loaded(cluster("---", (1,), (2,)), 100, None)
    snapshot.partitions["foo", 1] = snapshot.partitions["foo", 1]._replace(target=())
    assert unknown_rates(problem_of(snapshot, BY_LOAD)) == ("", "")


def test_the_moment_chooses_the_rate() -> None:
    snapshot = cluster("--", (1, 2))
    load = Load(1, 2, 3, 4, 5, 6)
    snapshot.partitions["foo", 0] = snapshot.partitions["foo", 0]._replace(load=load)
    table = problem_of(snapshot, BY_LOAD).table
    assert weights_of(table, BY_LOAD, "in").tolist() == [1]
    assert weights_of(table, BY_LOAD._replace(at="busy"), "in").tolist() == [3]
    assert weights_of(table, BY_LOAD._replace(at="mean"), "in").tolist() == [5]


def test_the_share_of_cpu_counts_followers_and_consumers_too() -> None:
    table = problem_of(THREE, BY_LOAD).table
    # Partition 0: 0.7 x 100 + 0.15 x 200 on the leader, 0.15 x 100 on the follower; of the half, whole bytes.
    assert on_leaders(table, BY_LOAD, "cpu", table.free).tolist() == [100 + 49, 15, 7]
