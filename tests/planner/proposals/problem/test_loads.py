from fractions import Fraction

from planner.model.snapshot import Load
from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.problem.loads import (
    leader_ranges,
    on_leaders,
    on_replicas,
    replica_ranges,
    unknown_rates,
    weights_of,
)
from planner.proposals.problem.table import columns_of
from tests.planner.proposals.builders import cluster, loaded

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
    columns = columns_of(loaded(cluster("--", (1,), (2,)), 100, None), ())
    assert unknown_rates(columns._replace(topics=["__reassignd_canary"]), BY_LOAD) == ""


def test_partitions_without_rates_are_named() -> None:
    columns = columns_of(loaded(cluster("--", (1,), (2,)), 100, None), ())
    assert unknown_rates(columns, BY_LOAD) == "1 partition without its rate of the last minutes: foo-1"
    assert unknown_rates(columns, BY_LOAD._replace(loads=("bytes",))) == ""
    nothing = columns_of(cluster("--", (1,), (2,)), ())
    assert unknown_rates(nothing, BY_LOAD._replace(at="busy")) == (
        "2 partitions without their rates of the busy hour: foo-0, foo-1"
    )


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
