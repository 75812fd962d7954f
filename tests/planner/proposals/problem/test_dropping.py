from fractions import Fraction

import numpy as np

from planner.proposals.problem.dropping import first_to_drop
from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.problem.layout import Layout
from planner.proposals.problem.nodes import Node
from planner.proposals.problem.table import BEHIND, IN_SYNC, OFFLINE
from tests.planner.proposals.builders import cluster, failing


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
