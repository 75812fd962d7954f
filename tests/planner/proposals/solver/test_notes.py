from fractions import Fraction

import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, ProposalError, problem_of
from planner.proposing import propose
from tests.planner.proposals.builders import cluster


def notes(snapshot: Snapshot, goal: Goal) -> tuple[str, ...]:
    return propose(problem_of(snapshot, goal)).notes


def test_a_partition_above_the_share_of_a_broker_is_named() -> None:
    snapshot = cluster("--", (1,), (1,), (1,), sizes={0: 100, 1: 1, 2: 1})
    assert notes(snapshot, Goal(even_counts=True, by="bytes")) == (
        "broker 1 gets 100 B instead of 48 B to 54 B: foo-0 alone has 100 B",
        "broker 2 gets 2 B instead of 48 B to 54 B",
    )


def test_moves_for_even_bytes_have_a_note() -> None:
    snapshot = cluster("--", (1,), (1,), (2,), (2,), sizes={0: 60, 1: 40, 2: 10, 3: 10})
    goal = Goal(even_counts=True, by="both", byte_tolerance=Fraction(1, 5))
    assert notes(snapshot, goal) == (
        "2 moves more than even counts need, for even bytes",
        "even bytes need at least 28 B of copies",
    )


def test_a_rack_without_a_broker_has_a_note_or_is_refused() -> None:
    snapshot = cluster("aabbc", (1, 3, 5))
    goal = Goal(drain=frozenset({5}))
    reason = (
        "rack c has no broker left: 1 partition with more replicas than the 2 other racks have"
        " several in one rack"
    )
    assert notes(snapshot, goal) == (reason,)
    with pytest.raises(ProposalError, match="rack c has no broker left"):
        notes(snapshot, goal._replace(strict_racks=True))


def test_a_rack_with_much_fewer_brokers_than_others_has_a_note() -> None:
    lists = [(1 + turn % 3, 4 + turn % 3, 7) for turn in range(6)]
    expected = "brokers of rack c get 3.0 times the replicas of the least loaded ones: the rack has fewer"
    assert notes(cluster("aaabbbc", *lists), Goal(even_counts=True)) == (expected,)
    assert notes(cluster("aabbc", (1, 3, 5), (2, 4, 5)), Goal(drain=frozenset({1}))) == ()


def test_a_plan_that_meets_the_request_has_no_notes() -> None:
    assert notes(cluster("---", (1,), (1,), (1,)), Goal(even_counts=True)) == ()
