from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.problem.layout import Layout, first_to_drop
from planner.proposals.problem.nodes import Node, RackRule, rack_bounds
from planner.proposals.problem.table import BEHIND, IN_SYNC, OFFLINE
from tests.planner.proposals.builders import cluster, failing, padded


def layout(racks: str, goal: Goal | None = None) -> Layout:
    problem = problem_of(cluster(racks, (1,)), goal or Goal())
    return Layout(problem.nodes, problem.table.brokers, range(1, 5))


def test_racks_without_a_usable_broker_are_last() -> None:
    found = layout("abc", Goal(drain=frozenset({1})))
    assert (found.racks, found.rack.tolist()) == (2, [2, 0, 1])


def test_weights_are_converted_to_integers() -> None:
    assert layout("--", Goal(weights={})).weights.tolist() == [1, 1]


def test_the_excess_of_a_list_is_that_of_the_rule() -> None:
    found = layout("aabbc")
    rule = RackRule(problem_of(cluster("aabbc", (1,)), Goal()).nodes)
    lists = [(0, 1), (0, 2), (0, 1, 2), (0, 2, 4), (0, 1, 2, 3)]
    expected = [rule.excess(tuple(broker + 1 for broker in each)) for each in lists]
    assert found.excess(padded(*lists)).tolist() == expected


def test_brokers_without_racks_only_have_to_be_usable() -> None:
    found = layout("---", Goal(drain=frozenset({1})))
    assert found.excess(padded((0, 1), (1, 2))).tolist() == [1, 0]


def test_the_excess_of_equal_sets_is_counted_for_each_of_them() -> None:
    assert layout("aab").total_excess(padded((0, 1), (1, 0), (0, 2))) == 2
    assert layout("aab").total_excess(np.zeros((0, 2), np.int64)) == 0


counts = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 6), min_size=1)


def test_three_replicas_are_in_three_racks() -> None:
    bounds = rack_bounds(3, {"a": 2, "b": 2, "c": 2})
    assert bounds.least == bounds.most == {"a": 1, "b": 1, "c": 1}


def test_racks_differ_by_one_when_there_are_more_replicas_than_racks() -> None:
    bounds = rack_bounds(3, {"a": 3, "b": 3})
    assert (bounds.least, bounds.most) == ({"a": 1, "b": 1}, {"a": 2, "b": 2})


def test_a_small_rack_is_filled_to_its_bound() -> None:
    assert rack_bounds(4, {"a": 1, "b": 5}).most == {"a": 1, "b": 3}


@given(st.integers(1, 12), counts)
def test_the_bounds_leave_room_for_every_replica(factor: int, brokers_of: dict[str, int]) -> None:
    bounds = rack_bounds(factor, brokers_of)
    wanted = min(factor, sum(brokers_of.values()))
    assert sum(bounds.least.values()) <= wanted <= sum(bounds.most.values())
    assert all(bounds.most[rack] - bounds.least[rack] in {0, 1} for rack in brokers_of)


def test_the_excess_counts_replicas_that_must_move() -> None:
    rule = RackRule(Node(number, rack, True, True) for number, rack in enumerate("aabbcc", start=1))
    assert rule.excess((1, 3, 5)) == 0
    assert rule.excess((1, 2, 3)) == 1
    assert rule.excess((1, 2, 3, 4, 5, 6)) == 0


def dropped(
    racks: str, counts: list[int], states: list[int], factor: int, weights: tuple[int, ...] = ()
) -> int:
    """Return which of the replicas on brokers 0, 1, … is dropped first."""
    brokers = np.arange(len(racks))
    nodes = [
        Node(each, rack, True, True, Fraction(weights[each] if weights else 1))
        for each, rack in enumerate(racks)
    ]
    sets = brokers[None, :]
    layout = Layout(nodes, brokers, {factor, len(racks)})
    state = np.array([states], np.int8)
    return int(first_to_drop(layout, sets, sets >= 0, state, np.array([factor]), np.array(counts))[0])


def test_racks_come_before_states_and_states_before_counts() -> None:
    assert dropped("aab", [1, 1, 9], [IN_SYNC, IN_SYNC, BEHIND], 2) == 1
    assert dropped("abc", [9, 1, 1], [IN_SYNC, IN_SYNC, BEHIND], 2) == 2
    assert dropped("abc", [9, 1, 1], [IN_SYNC, OFFLINE, BEHIND], 2) == 1
    assert dropped("abc", [1, 5, 9], [IN_SYNC] * 3, 2) == 2


def test_the_fullest_broker_is_so_relative_to_its_weight() -> None:
    assert dropped("abc", [2, 6, 5], [IN_SYNC] * 3, 2, weights=(1, 4, 2)) == 2


def test_the_leader_is_dropped_last() -> None:
    assert dropped("abc", [5, 5, 5], [IN_SYNC] * 3, 2) == 1


def test_offline_replicas_leave_as_far_as_live_ones_remain() -> None:
    state = failing(cluster("-----", (1, 2, 3), (1, 2), (2, 3)), {2, 3})
    leaves = problem_of(state, Goal(factor=2)).table.leaves.tolist()
    assert sum(leaves[0]) == 1
    assert not any(leaves[1] + leaves[2])
