import numpy as np

from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.solver.changed_plan import Placement, ordered
from planner.proposals.solver.solve import input_of
from tests.planner.proposals.builders import cluster, padded


def placement(racks: str, *lists: tuple[int, ...], room: int = 10**6) -> Placement:
    """Every partition has 10 bytes; brokers are positions from 0."""
    sizes = dict.fromkeys(range(len(lists)), 10)
    given = input_of(problem_of(cluster(racks, *lists, sizes=sizes), Goal()))
    given = given._replace(room=np.full(len(racks), room))
    return Placement(given, given.lists, np.zeros(len(racks), np.int64))


def test_a_change_is_counted_on_both_brokers() -> None:
    plan = placement("---", (1, 2), (1, 2))
    plan.apply(0, 0, 2)
    assert plan.sets.tolist() == [[2, 1], [0, 1]]
    assert (plan.held.tolist(), plan.counts.tolist()) == ([10, 20, 10], [1, 2, 1])
    assert [entries.tolist() for entries in plan.entries[2]] == [[], [0]]


def test_only_a_new_broker_costs_a_move() -> None:
    plan = placement("---", (1, 2))
    assert plan.cost(0, 0, 2) == (1, 10)
    plan.apply(0, 0, 2)
    assert plan.cost(0, 2, 0) == (-1, -10)


def test_a_partition_has_a_broker_once() -> None:
    plan = placement("---", (1, 2))
    assert plan.may_change(0, 2)
    assert not plan.may_change(0, 1)


def test_the_rack_rule_limits_changes() -> None:
    assert not placement("abb", (1, 2)).may_change(0, 2)
    assert placement("abb", (1, 2)).may_change(1, 2)


def test_a_broker_without_room_gets_nothing() -> None:
    assert placement("--", (1,), room=10).may_change(0, 1)
    assert not placement("--", (1,), room=9).may_change(0, 1)


def test_the_leader_stays_first_and_new_replicas_are_last() -> None:
    assert ordered(padded((2, 1, 3)), padded((2, 1, 4)), np.array([2])).tolist() == [[2, 1, 4]]


def test_a_new_leader_is_first_and_the_others_keep_their_order() -> None:
    assert ordered(padded((2, 1, 3)), padded((2, 1, 3)), np.array([3])).tolist() == [[3, 2, 1]]


def test_shorter_lists_are_padded_at_the_end() -> None:
    assert ordered(padded((2, 1, 3)), padded((-1, 1, 3)), np.array([1])).tolist() == [[1, 3, -1]]
