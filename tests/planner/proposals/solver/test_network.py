import sys

import numpy as np
import pytest

from planner.proposals.problem.goal import MissingSolverError
from planner.proposals.solver.network import Network


def flow_of(amount: int, *arcs: tuple[int, int]) -> list[int] | None:
    """Send the amount from one node to another over parallel arcs of (capacity, cost)."""
    network = Network()
    capacities, costs = np.array(arcs).T
    tails, heads = np.zeros(len(arcs), np.int64), np.ones(len(arcs), np.int64)
    where = network.add(tails, heads, capacities, costs)
    flow = network.cheapest_flow(np.array([amount, -amount]))
    return None if flow is None else flow[where].tolist()


def test_the_cheapest_way_is_filled_first() -> None:
    assert flow_of(4, (5, 3), (2, -1)) == [2, 2]


def test_too_much_flow_has_no_solution() -> None:
    assert flow_of(4, (3, 0)) is None


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(MissingSolverError, match=r"pip install 'WHEEL\[propose\]'"):
        flow_of(1, (1, 1))
