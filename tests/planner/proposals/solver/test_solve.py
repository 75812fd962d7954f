from fractions import Fraction

import numpy as np
import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.solver import solve as module
from planner.proposals.solver.class_flow import new_replicas
from planner.proposals.solver.solve import solve
from tests.planner.proposals.builders import cluster, padded

FULL = cluster("aabbcc", *[(1, 3, 5)] * 20, *[(1, 4, 5)] * 10)
EVEN = Goal(even_counts=True)


def test_new_replicas_are_counted() -> None:
    assert new_replicas(padded((0, 1), (0, 1)), padded((1, 0), (2, 3))).tolist() == [0, 2]


def test_quotas_and_the_class_flow_need_the_same_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = solve(problem_of(FULL, EVEN))
    monkeypatch.setattr(module, "EXACT_ARCS", 0)
    assert solve(problem_of(FULL, EVEN)).moves_bound == exact.moves_bound == 35


def test_a_plan_without_a_proof_has_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_ARCS", -1)
    monkeypatch.setattr(module, "MOST_ARCS", -1)
    # Broker 1 is to hold two of the three replicas that there are, but there is one partition.
    full = cluster("aaa", (1, 2, 3))
    solution = solve(problem_of(full, Goal(even_counts=True, weights={1: Fraction(9)})))
    assert solution.notes[0].startswith("the cluster is too large for the exact solver")


def bytes_after(snapshot: Snapshot, goal: Goal) -> list[int]:
    problem = problem_of(snapshot, goal)
    lists = solve(problem).lists
    return [
        int(problem.table.bytes[(lists == broker).any(axis=1)].sum()) for broker in range(len(problem.nodes))
    ]


def test_bytes_are_evened_out_if_asked_for() -> None:
    sizes = dict(enumerate([90, 10, 80, 20, 70, 30, 60, 40]))
    full = cluster("--", *[(1,)] * 8, sizes=sizes)
    for by in ("bytes", "both"):
        assert (
            max(
                bytes_after(
                    full,
                    Goal(even_counts=True, tolerance=Fraction(1, 10), byte_tolerance=Fraction(1, 20), by=by),
                )
            )
            <= 210
        )


def test_a_budget_of_bytes_widens_the_ranges() -> None:
    full = cluster("--", *[(1,)] * 8, sizes=dict.fromkeys(range(8), 10))
    solution = solve(problem_of(full, Goal(even_counts=True, max_bytes=20)))
    assert (int((solution.lists == 1).sum()), solution.widened) == (2, 2)
    assert np.array_equal(
        solve(problem_of(full, Goal(even_counts=True, max_bytes=0))).lists, np.zeros((8, 1))
    )
