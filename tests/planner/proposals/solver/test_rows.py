import numpy as np

from planner.proposals.solver.rows import ordered
from tests.planner.proposals.builders import padded


def test_the_leader_stays_first_and_new_replicas_are_last() -> None:
    assert ordered(padded((2, 1, 3)), padded((2, 1, 4)), np.array([2])).tolist() == [[2, 1, 4]]


def test_a_new_leader_is_first_and_the_others_keep_their_order() -> None:
    assert ordered(padded((2, 1, 3)), padded((2, 1, 3)), np.array([3])).tolist() == [[3, 2, 1]]


def test_shorter_lists_are_padded_at_the_end() -> None:
    assert ordered(padded((2, 1, 3)), padded((-1, 1, 3)), np.array([1])).tolist() == [[1, 3, -1]]
