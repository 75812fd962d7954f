from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings

from planner.model.snapshot import Partition, Snapshot
from planner.proposals.problem.counts import topic_excess
from planner.proposals.problem.goal import Goal, Problem, problem_of
from planner.proposals.solver.byte_balance import Budget
from planner.proposals.solver.solve import input_of
from planner.proposals.solver.topic_spread import Bounds, Topics, spread_topics, unbounded
from planner.proposing import propose
from tests.examples import examples
from tests.planner.proposals.builders import applied, brokers, padded, problems

Lists = Sequence[Sequence[int]]


def topics(racks: str, **lists: Lists) -> Problem:
    """Return a cluster with these replicas of the partitions of each topic, of one byte each."""
    partitions = {
        (topic, number): Partition(topic, number, tuple(each), tuple(each), each[0], 1)
        for topic, rows in lists.items()
        for number, each in enumerate(rows)
    }
    return problem_of(Snapshot(brokers(racks), partitions), Goal())


def spread(problem: Problem, sets: Lists, bounds: Bounds | None = None) -> list[list[int]]:
    """Return the ids of the brokers of each partition, from a plan with these ids."""
    table = problem.table
    rows = Topics(table.topic, table.topic[:0], table.replicas[:0])
    better = spread_topics(
        input_of(problem), padded(*sets) - 1, rows, bounds or unbounded(table.brokers.size)
    )
    return [[broker + 1 for broker in each if broker >= 0] for each in better.tolist()]


def test_two_moving_replicas_change_places() -> None:
    """a-1 should go to broker 3, where b already has a partition, and b-1 to broker 4, where a has one."""
    problem = topics("----", a=[(4,), (1,)], b=[(3,), (2,)])
    assert spread(problem, [(4,), (4,), (3,), (3,)]) == [[4], [3], [3], [4]]


def test_another_replica_leaves_the_broker() -> None:
    """Two of topic a stay on broker 1, and the only one of b leaves it."""
    problem = topics("--", a=[(1,), (1,)], b=[(1,), (1,), (2,)])
    assert sorted(map(tuple, spread(problem, [(1,), (1,), (1,), (2,), (2,)])[:2])) == [(1,), (2,)]


def test_replicas_that_would_stay_move_only_if_asked_for() -> None:
    lists = [(1,), (1,), (2,), (2,)]
    problem = topics("--", a=lists[:2], b=lists[2:])
    assert spread(problem, lists) == [list(each) for each in lists]
    result = spread(problem, lists, unbounded(2)._replace(further_moves=True, budget=Budget(2, 2)))
    assert sorted(result[:2]) == sorted(result[2:]) == [[1], [2]]
    assert spread(problem, lists, unbounded(2)._replace(further_moves=True, budget=Budget(1, 9)))[0] == [1]


def test_the_bytes_of_brokers_stay_in_their_ranges() -> None:
    problem = topics("----", a=[(4,), (1,)], b=[(3,), (2,)])
    table = problem.table._replace(bytes=np.array([1, 9, 1, 1]))
    exact = np.array([0, 0, 2, 10])
    bounds = unbounded(4)._replace(least=exact, most=exact)
    plan = [(4,), (4,), (3,), (3,)]
    assert spread(problem._replace(table=table), plan, bounds) == [list(each) for each in plan]


def test_replicas_stay_in_their_racks() -> None:
    problem = topics("aabb", a=[(3, 1), (3, 2)], b=[(4, 1), (4, 2)])
    plan = [(3, 1), (3, 2), (4, 1), (4, 2)]
    better = spread(problem, plan, unbounded(4)._replace(further_moves=True, budget=Budget(9, 9)))
    assert all({(each - 1) // 2 for each in row} == {0, 1} for row in better)
    assert sorted(row[0] for row in better[:2]) == [3, 4]


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_spread_topics_need_no_further_move(problem: Problem) -> None:
    table, wide = problem.table, propose(problem)
    after = applied(problem, wide).table
    assert wide.topic_excess_after == topic_excess(
        after.topic, after.replicas, len(table.brokers), len(problem.usable)
    )
    assert problem.goal.by != "replicas" or wide.moves == wide.moves_bound


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_even_topics_need_no_second_proposal(problem: Problem) -> None:
    problem = problem._replace(goal=problem.goal._replace(even_counts=True, spread="topic"))
    first = propose(problem)
    assert (
        first.topic_excess_after
        <= propose(problem._replace(goal=problem.goal._replace(spread="cluster"))).topic_excess_after
    )
    if problem.goal.factor is None:
        assert not propose(applied(problem, first)).moves


def test_all_topics_of_a_line_are_spread() -> None:
    lists = [(number % 2 + 1,) for number in range(12)]
    problem = topics("--", **{f"t{topic}": [lists[topic]] * 4 for topic in range(6)})
    first = problem._replace(goal=Goal(even_counts=True, spread="topic"))
    assert propose(first).topic_excess_after == 0
