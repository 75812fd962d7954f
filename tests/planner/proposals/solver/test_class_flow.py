import sys

import numpy as np
import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, MissingSolverError, problem_of
from planner.proposals.solver.class_flow import (
    Input,
    Ranges,
    aligned,
    arcs_of,
    classes_of,
    differing,
    place,
    place_fewest_bytes,
)
from planner.proposals.solver.network import Network
from planner.proposals.solver.solve import input_of
from tests.planner.proposals.builders import cluster, padded


def given(snapshot: Snapshot, goal: Goal, ranges: list[tuple[int, int]] | None = None) -> Input:
    problem = problem_of(snapshot, goal)
    wanted = None if ranges is None else Ranges(*np.array(ranges).T)
    return input_of(problem, wanted)


def placed(snapshot: Snapshot, goal: Goal, ranges: list[tuple[int, int]] | None = None) -> list[set[int]]:
    """Return the ids of the brokers of each partition."""
    sets = place(given(snapshot, goal, ranges)).tolist()
    return [{broker + 1 for broker in each if broker >= 0} for each in sets]


def test_partitions_with_the_same_leader_and_replicas_are_a_class() -> None:
    three = given(cluster("---", (1, 2, 3), (1, 3, 2), (2, 1, 3)), Goal())
    assert classes_of(three, by_leader=True).size.tolist() == [2, 1]
    assert classes_of(three, by_leader=False).size.tolist() == [3]


def test_rows_differ_by_more_than_padding() -> None:
    lists, sets = padded((1, 2), (1, 2), (1, 2)), padded((1, 2), (1, 3), (1, 2, 3))
    assert differing(lists, sets).tolist() == [1, 2]
    assert differing(sets, lists).tolist() == [1, 2]


def test_a_wanted_factor_makes_a_class() -> None:
    same = given(cluster("---", (1, 2), (1, 2)), Goal())
    assert len(classes_of(same._replace(factor=np.array([2, 3])), by_leader=True).size) == 2


def test_nothing_moves_without_a_reason() -> None:
    assert placed(cluster("---", (1, 2)), Goal(repair_racks=True)) == [{1, 2}]


def test_a_drained_replica_goes_to_the_emptiest_broker() -> None:
    assert placed(cluster("----", (1, 2), (2, 3)), Goal(drain=frozenset({1}))) == [{2, 4}, {2, 3}]


def test_a_drained_replica_prefers_the_rack_that_lacks_one() -> None:
    assert placed(cluster("abcb", (1, 2, 3)), Goal(drain=frozenset({2}))) == [{1, 3, 4}]


def test_the_rack_rule_outweighs_even_counts() -> None:
    wanted = [(0, 0), (2, 2), (0, 9)]
    assert placed(cluster("abb", (1, 3), (1, 3)), Goal(repair_racks=True), wanted) == [{1, 2}, {1, 2}]


def test_racks_are_not_repaired_unless_asked_for() -> None:
    assert placed(cluster("aab", (1, 2)), Goal(drain=frozenset({3}))) == [{1, 2}]
    assert placed(cluster("aab", (1, 2)), Goal(repair_racks=True)) == [{1, 3}]


def test_the_smallest_replica_moves_where_bytes_are_to_be_few() -> None:
    snapshot = cluster("--", (1,), (1,), (1,), sizes={0: 30, 1: 10, 2: 20})
    sets, least = place_fewest_bytes(given(snapshot, Goal(), [(1, 2), (1, 2)]))
    assert (sets.tolist(), least) == ([[0], [1], [0]], 10)


def test_sizes_that_are_rounded_give_a_lower_bound() -> None:
    snapshot = cluster("--", (1,), (1,), sizes={0: 10**9, 1: 10**9 - 1})
    sets, least = place_fewest_bytes(given(snapshot, Goal(), [(1, 1), (1, 1)]))
    assert (sets >= 0).sum() == 2
    assert 0.999 * 10**9 < least < 10**9


def test_the_leader_is_dropped_last() -> None:
    assert placed(cluster("---", (3, 1, 2)), Goal(factor=1)) == [{3}]


def test_a_class_gets_its_number_of_different_brokers() -> None:
    wanted = [(2, 2), (2, 2), (2, 2)]
    assert sorted(map(sorted, placed(cluster("---", *[(1, 2)] * 3), Goal(), wanted))) == [
        [1, 2],
        [1, 3],
        [2, 3],
    ]


def test_the_smallest_partition_of_a_class_moves() -> None:
    moved = placed(cluster("---", (1, 2), (1, 2), sizes={0: 9, 1: 3}), Goal(), [(0, 1), (0, 9), (0, 9)])
    assert moved == [{1, 2}, {2, 3}]


def test_kept_replicas_stay_at_their_positions() -> None:
    assert aligned(padded((2, 1, 3)), padded((1, 2, 4))).tolist() == [[2, 1, 4]]
    assert aligned(padded((2, 1)), padded((5, 2, 4))).tolist() == [[2, 4, 5]]


def test_the_number_of_arcs_grows_with_the_sets_of_replicas() -> None:
    few, many = cluster("---", (1, 2), (2, 1)), cluster("---", (1, 2), (2, 3))
    assert arcs_of(given(few, Goal())) < arcs_of(given(many, Goal()))


def flow_of(amount: int, *arcs: tuple[int, int]) -> list[int] | None:
    """Send the amount from one node to another over parallel arcs of (capacity, cost)."""
    network = Network()
    capacities, costs = np.array(arcs).T
    tails, heads = np.zeros(len(arcs), np.int64), np.ones(len(arcs), np.int64)
    where = network.add(tails, heads, capacities, costs)
    flow = network.cheapest_flow(np.array([amount, -amount]))
    return None if flow is None else flow[where].tolist()


def test_the_cheapest_way_is_filled_first() -> None:
    assert flow_of(4, (5, 3), (2, -1)) == [2, 2]


def test_too_much_flow_has_no_solution() -> None:
    assert flow_of(4, (3, 0)) is None


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(MissingSolverError, match=r"pip install 'WHEEL\[propose\]'"):
        flow_of(1, (1, 1))
