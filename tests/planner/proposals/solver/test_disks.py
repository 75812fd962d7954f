import numpy as np
import pytest

from planner.proposals.problem.goal import Goal, ProposalError, problem_of
from planner.proposals.proposal import propose
from planner.proposals.solver.class_flow import Input
from planner.proposals.solver.disks import within_disks
from planner.proposals.solver.solve import input_of
from planner.snapshot import Snapshot
from tests.planner.proposals.builders import cluster, padded

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
