from planner.proposals.class_flow import classes_of, place
from planner.proposals.counts import CountRange
from planner.proposals.goal import Goal, problem_of
from planner.proposals.rack_rule import RackRule
from planner.snapshot import Snapshot
from tests.planner.proposals.builders import cluster, row


def placed(
    snapshot: Snapshot, goal: Goal, ranges: dict[int, CountRange] | None = None
) -> list[dict[int, int]]:
    problem = problem_of(snapshot, goal)
    return [dict(each.replicas) for each in place(problem, RackRule(problem.nodes), ranges or {})]


def test_partitions_with_the_same_leader_and_replicas_are_a_class() -> None:
    rows = [row(1, 2, 3), row(1, 3, 2, number=1), row(2, 1, 3, number=2)]
    assert [len(each.rows) for each in classes_of(rows)] == [2, 1]


def test_nothing_moves_without_a_reason() -> None:
    assert placed(cluster("---", (1, 2)), Goal(repair_racks=True)) == [{1: 1, 2: 1}]


def test_a_drained_replica_goes_to_the_emptiest_broker() -> None:
    assert placed(cluster("----", (1, 2), (2, 3)), Goal(drain=frozenset({1}))) == [{2: 1, 4: 1}, {2: 1, 3: 1}]


def test_a_drained_replica_prefers_the_rack_that_lacks_one() -> None:
    assert placed(cluster("abcb", (1, 2, 3)), Goal(drain=frozenset({2}))) == [{1: 1, 3: 1, 4: 1}]


def test_the_rack_rule_outweighs_even_counts() -> None:
    ranges = {1: CountRange(0, 0), 2: CountRange(2, 2)}
    assert placed(cluster("abb", (1, 3), (1, 3)), Goal(repair_racks=True), ranges) == [{1: 2, 2: 2}]


def test_racks_are_not_repaired_unless_asked_for() -> None:
    assert placed(cluster("aab", (1, 2)), Goal(drain=frozenset({3}))) == [{1: 1, 2: 1}]
    assert placed(cluster("aab", (1, 2)), Goal(repair_racks=True)) == [{1: 1, 3: 1}]


def test_the_leader_is_dropped_last() -> None:
    assert placed(cluster("---", (3, 1, 2)), Goal(factor=1)) == [{3: 1}]
