from fractions import Fraction

import numpy as np
import pytest

from planner.proposals.problem import counts
from planner.proposals.problem.counts import (
    byte_ranges,
    count_amounts,
    count_ranges,
    counts_by_topic,
    ideal_shares,
    topic_excess,
)
from planner.proposals.problem.goal import CountRange, Goal, Problem, problem_of
from planner.proposals.problem.nodes import RackRule
from tests.planner.proposals.builders import cluster, padded


def ideals(problem: Problem) -> dict[int, Fraction]:
    return ideal_shares(problem, RackRule(problem.nodes), count_amounts(problem))


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


def test_replicas_that_such_a_broker_keeps_reduce_the_share_of_its_rack() -> None:
    problem = problem_of(cluster("aab", *[(1, 3)] * 4, (2, 3), (2, 3)), Goal(receive_nothing=frozenset({1})))
    assert [ranges(problem)[broker] for broker in (1, 2, 3)] == [(4, 4), (2, 2), (6, 6)]


def test_bytes_are_shared_in_the_same_way() -> None:
    problem = problem_of(cluster("--", (1,), (1,), sizes={0: 60, 1: 40}), Goal())
    assert byte_ranges(problem, RackRule(problem.nodes)) == {1: (47, 53), 2: (47, 53)}


LISTS = padded((0, 1), (0, 1), (0,), (2,))
TOPICS = np.array([0, 0, 0, 1])


def test_replicas_above_the_share_of_a_topic_are_counted() -> None:
    """Five replicas of the first topic on three brokers: a share of 2, and broker 0 has 3."""
    assert topic_excess(TOPICS, LISTS, brokers=3, usable=3) == 1


def test_few_usable_brokers_have_a_larger_share() -> None:
    assert topic_excess(TOPICS, LISTS, brokers=3, usable=1) == 0


def test_topics_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "CELLS", 3)
    parts = [(first, counts.tolist()) for first, counts in counts_by_topic(TOPICS, LISTS, 3)]
    assert parts == [(0, [[3, 2, 0]]), (1, [[0, 0, 1]])]


def test_no_partition_has_no_excess() -> None:
    assert topic_excess(TOPICS[:0], LISTS[:0], brokers=3, usable=3) == 0
