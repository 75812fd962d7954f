import numpy as np
import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, ProposalError, problem_of
from planner.proposals.solver.byte_balance import Budget, even_bytes, within_disks
from planner.proposals.solver.class_flow import Input, Ranges
from planner.proposals.solver.remainder import Shares
from planner.proposals.solver.solve import input_of
from planner.proposing import propose
from tests.planner.proposals.builders import cluster, padded

PLENTY = Budget(100, 10**9)


def balanced(
    snapshot: Snapshot, wanted: list[tuple[int, int]], budget: Budget = PLENTY, *, keep_counts: bool = True
) -> list[list[int]]:
    """Return the ids of the brokers of each partition.

    Counts stay as they are, unless `keep_counts` is off.
    """
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


IDS = np.array([1, 2, 3])


def given(*room: int) -> Input:
    snapshot = cluster("---", (1,), (1,), sizes={0: 100, 1: 10})
    return input_of(problem_of(snapshot, Goal()))._replace(room=np.array(room))


def with_disks(snapshot: Snapshot, *sizes: int) -> Snapshot:
    for broker, size in enumerate(sizes, start=1):
        snapshot.brokers[broker] = snapshot.brokers[broker]._replace(disk_bytes=size)
    return snapshot


def test_a_large_replica_goes_where_there_is_room() -> None:
    assert within_disks(given(0, 50, 200), padded((1,), (1,)), IDS).tolist() == [[2], [1]]


def test_nothing_changes_where_there_is_room() -> None:
    assert within_disks(given(0, 110, 0), padded((1,), (1,)), IDS).tolist() == [[1], [1]]


def test_full_disks_are_named() -> None:
    with pytest.raises(ProposalError, match="no room: broker 2 would receive 110 B, but has room for 50 B"):
        within_disks(given(0, 50, 0), padded((1,), (1,)), IDS)


def test_a_broker_above_the_headroom_gets_nothing() -> None:
    snapshot = with_disks(cluster("----", (1,), (2,), sizes={0: 10, 1: 95}), 1000, 100, 1000, 1000)
    problem = problem_of(snapshot, Goal(drain=frozenset({1})))
    assert [node.receives for node in problem.nodes] == [False, False, True, True]
    proposal = propose(problem)
    assert proposal.brokers[1].gains == 0
    assert proposal.notes[0].endswith("so they get nothing new: 2")


def test_a_plan_keeps_the_headroom_of_small_disks() -> None:
    snapshot = with_disks(cluster("---", (1,), (3,), (3,), sizes={0: 60, 1: 1, 2: 1}), 1000, 50, 1000)
    proposal = propose(problem_of(snapshot, Goal(drain=frozenset({1}))))
    assert proposal.brokers[1].gains == 0
