from fractions import Fraction

import numpy as np

from planner.proposals.problem.layout import Layout
from planner.proposals.problem.nodes import Node
from planner.proposals.solver.levels import MOST_LEVELS, Levels, Loads


def levels(racks: str, held: list[int], rest: int = 0, weights: tuple[int, ...] = ()) -> Levels:
    """Return the levels for brokers 0, 1, … with these replicas, of which `rest` more are to be placed."""
    nodes = [
        Node(number, rack, True, True, Fraction(weights[number] if weights else 1))
        for number, rack in enumerate(racks)
    ]
    layout, nothing = Layout(nodes, np.arange(len(racks)), {1}), np.zeros(len(racks), np.int64)
    return Levels(layout, Loads(np.array(held), nothing, nothing, rest, nothing))


def test_a_few_shares_are_all_told_apart() -> None:
    assert levels("--", [1, 2], rest=3).shares == [1, 2, 3, 4]


def test_the_share_that_is_expected_is_a_level_of_its_own() -> None:
    assert {999, 1000, 1001, 1002} <= set(levels("---", [500, 500, 0], rest=2000).shares)


def test_a_level_begins_below_the_count_that_reaches_it() -> None:
    each = levels("--", [1, 1], rest=2, weights=(1, 2))
    assert each.shares == [Fraction(1, 2), 1, Fraction(3, 2), 2]
    starts = {weight: counts.tolist() for weight, counts in each.starts().items()}
    assert starts == {1: [0, 0, 1, 1], 2: [0, 1, 2, 3]}


def test_levels_around_a_highest_share_between_them_are_refined_until_it_is_one() -> None:
    each = levels("---", [0, 0, 10**6])
    assert not each.refine(np.array([0, 0, 10**6]))
    while each.refine(np.array([123_457, 123_456, 123_455])):
        assert len(each.shares) <= MOST_LEVELS
    assert {123_457, 123_458} <= set(each.shares)


def test_each_rack_has_its_own_highest_share() -> None:
    each = levels("aabb", [0, 0, 10**6, 10**6])
    assert each.refine(np.array([777, 0, 10**6, 10**6]))
    assert {777, 778} <= set(each.shares)
