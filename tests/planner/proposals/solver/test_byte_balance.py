import numpy as np

from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.solver.byte_balance import Budget, even_bytes
from planner.proposals.solver.class_flow import Ranges
from planner.proposals.solver.quotas import Shares
from planner.proposals.solver.solve import input_of
from planner.snapshot import Snapshot
from tests.planner.proposals.builders import cluster

PLENTY = Budget(100, 10**9)


def balanced(
    snapshot: Snapshot, wanted: list[tuple[int, int]], budget: Budget = PLENTY, *, keep_counts: bool = True
) -> list[list[int]]:
    """Return the ids of the brokers of each partition. Counts stay as they are, unless `keep_counts` is off."""
    problem = problem_of(snapshot, Goal())
    counts = problem.table.counts(problem.table.free)
    given = input_of(problem, Ranges(counts, counts) if keep_counts else None)
    least, most = np.array(wanted).T
    shares = Shares(least, most, np.zeros(len(wanted), np.int64))
    return [problem.table.brokers[each].tolist() for each in even_bytes(given, given.lists, shares, budget)]


TWO = cluster("--", (1,), (1,), (2,), (2,), sizes={0: 60, 1: 40, 2: 10, 3: 10})


def test_a_large_and_a_small_replica_are_exchanged() -> None:
    assert balanced(TWO, [(60, 70), (50, 60)]) == [[1], [2], [1], [2]]


def test_one_replica_changes_its_broker_where_counts_allow_it() -> None:
    assert balanced(TWO, [(60, 60), (60, 60)], keep_counts=False) == [[1], [2], [2], [2]]


def test_nothing_is_exchanged_within_the_ranges() -> None:
    assert balanced(TWO, [(0, 100), (0, 100)]) == [[1], [1], [2], [2]]


def test_a_budget_of_moves_is_kept() -> None:
    assert balanced(TWO, [(60, 70), (50, 60)], Budget(1, 10**9)) == [[1], [1], [2], [2]]


def test_a_budget_of_bytes_is_kept() -> None:
    assert balanced(TWO, [(60, 70), (50, 60)], Budget(100, 49)) == [[1], [1], [2], [2]]


def test_a_partition_does_not_get_a_broker_twice() -> None:
    both = cluster("--", (1, 2), sizes={0: 50})
    assert balanced(both, [(0, 40), (60, 99)], keep_counts=False) == [[1, 2]]


def test_the_rack_rule_is_kept() -> None:
    racks = cluster("abb", (1, 2), (1, 3), sizes={0: 10, 1: 90})
    assert balanced(racks, [(0, 50), (0, 100), (0, 100)], keep_counts=False) == [[1, 2], [1, 3]]


def test_a_broker_sheds_many_small_replicas() -> None:
    small = cluster("--", *[(1,)] * 10, sizes=dict.fromkeys(range(10), 10))
    moved = balanced(small, [(50, 50), (50, 50)], Budget(4, 10**9), keep_counts=False)
    assert sorted(moved) == [[1]] * 6 + [[2]] * 4
