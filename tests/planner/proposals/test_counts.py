from fractions import Fraction

from planner.proposals.counts import CountRange, count_ranges, ideal_counts
from planner.proposals.goal import Goal, Problem, problem_of
from planner.proposals.rack_rule import RackRule
from tests.planner.proposals.builders import cluster


def ideals(problem: Problem) -> dict[int, Fraction]:
    return ideal_counts(problem, RackRule(problem.nodes))


def ranges(problem: Problem) -> dict[int, CountRange]:
    return count_ranges(problem, RackRule(problem.nodes))


def test_brokers_share_evenly() -> None:
    assert ideals(problem_of(cluster("---", (1, 2), (1, 2)), Goal())) == dict.fromkeys(
        (1, 2, 3), Fraction(4, 3)
    )


def test_a_rack_with_one_broker_is_fuller_where_every_rack_must_hold_a_replica() -> None:
    problem = problem_of(cluster("aabbc", *[(1, 3, 5)] * 4), Goal())
    assert ideals(problem) == {1: 2, 2: 2, 3: 2, 4: 2, 5: 4}


def test_a_weight_scales_the_share() -> None:
    problem = problem_of(cluster("---", *[(1,)] * 10), Goal(weights={3: Fraction(1, 2)}))
    assert ideals(problem) == {1: 4, 2: 4, 3: 2}


def test_partitions_out_of_scope_count() -> None:
    snapshot = cluster("--", (1,), (1,))
    problem = problem_of(snapshot, Goal(), lambda topic: topic != "foo")
    assert ideals(problem) == {1: 1, 2: 1} or ranges(problem)[1].most >= 1


def test_the_tolerance_widens_the_range() -> None:
    problem = problem_of(cluster("--", *[(1,)] * 20), Goal(tolerance=Fraction(1, 10)))
    assert ranges(problem) == {1: (9, 11), 2: (9, 11)}


def test_a_broker_that_gets_nothing_new_keeps_its_count() -> None:
    problem = problem_of(cluster("---", *[(1,)] * 9), Goal(receive_nothing=frozenset({1})))
    assert ranges(problem)[1] == (9, 9)


def test_a_range_is_widened_on_both_sides() -> None:
    assert CountRange(3, 4).widened(2) == (1, 6)
