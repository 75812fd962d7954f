import numpy as np
from hypothesis import given, settings

from planner.proposals.problem.counts import count_ranges
from planner.proposals.problem.goal import Goal, Problem, problem_of
from planner.proposals.problem.nodes import RackRule
from planner.proposals.solver.class_flow import Input, Ranges, moves_of, place
from planner.proposals.solver.quotas import QuotaPlan, by_quotas, count_bound
from planner.proposals.solver.remainder import Shares
from planner.proposals.solver.solve import input_of
from tests.examples import examples
from tests.planner.proposals.builders import cluster, problems


def with_ranges(problem: Problem) -> Input:
    """The input with the ranges of the goal's tolerance."""
    ranges = count_ranges(problem, RackRule(problem.nodes))
    every = [ranges.get(broker, (0, 0)) for broker in problem.table.brokers.tolist()]
    return input_of(problem, Ranges(*np.array(every, np.int64).T))


def drained(racks: str, *lists: tuple[int, ...]) -> QuotaPlan:
    return by_quotas(input_of(problem_of(cluster(racks, *lists), Goal(drain=frozenset({1})))))


def test_a_drained_replica_goes_to_its_rack() -> None:
    plan = drained("aabb", (1, 3), (1, 4))
    assert plan.sets.tolist() == [[1, 2], [1, 3]]
    assert (plan.bound, plan.complete) == (2, True)


def test_drained_replicas_go_to_the_emptiest_brokers() -> None:
    assert drained("----", (1, 2), (1, 2), (2, 3)).sets.tolist() == [[3, 1], [2, 1], [1, 2]]


def test_a_replica_that_finds_no_place_at_first_displaces_another() -> None:
    plan = by_quotas(input_of(problem_of(cluster("--", (1,), (2,)), Goal(factor=2))))
    assert (plan.sets.tolist(), plan.complete) == ([[0, 1], [1, 0]], True)


def test_the_bound_is_the_larger_one_of_surplus_and_deficit() -> None:
    given_ = with_ranges(problem_of(cluster("---", *[(1,)] * 9), Goal(even_counts=True)))
    bound = count_bound(given_)
    assert given_.ranges is not None
    assert [bound(given_.ranges.widened(by)) for by in (0, 1, 2, 6)] == [6, 5, 4, 0]


def test_large_replicas_leave_for_even_bytes() -> None:
    snapshot = cluster("--", (1,), (1,), (1,), sizes={0: 10, 1: 100, 2: 90})
    wanted = np.array([100, 100])
    plan = by_quotas(input_of(problem_of(snapshot, Goal())), Shares(wanted, wanted, np.zeros(2, np.int64)))
    assert (plan.sets.tolist(), plan.bytes_bound) == ([[0], [1], [0]], 100)


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_no_optimum_is_below_the_bound(problem: Problem) -> None:
    given_ = with_ranges(problem)
    exact = place(given_)
    assert given_.ranges is not None
    counts = given_.fixed + np.bincount(exact[exact >= 0], minlength=len(given_.fixed))
    usable = given_.layout.usable
    outside = (counts < given_.ranges.least) | (counts > given_.ranges.most)
    plan = by_quotas(given_)
    if plan.complete and not (outside & usable).any():
        assert moves_of(given_.lists, exact) >= plan.bound


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_complete_plans_place_every_replica_on_a_permitted_broker(problem: Problem) -> None:
    given_ = with_ranges(problem)
    plan = by_quotas(given_)
    if plan.complete:
        for old, new, factor in zip(
            given_.lists.tolist(), plan.sets.tolist(), given_.factor.tolist(), strict=True
        ):
            members = [each for each in new if each >= 0]
            assert len(members) == len(set(members)) == factor
            assert all(given_.layout.receives[each] for each in set(members) - set(old))
            assert all(given_.layout.usable[each] for each in members)
