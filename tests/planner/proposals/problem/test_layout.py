import numpy as np

from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.problem.layout import Layout
from planner.proposals.problem.rack_rule import RackRule
from tests.planner.proposals.builders import cluster, padded


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
