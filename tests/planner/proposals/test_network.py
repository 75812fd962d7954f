import sys

import pytest

from planner.proposals.network import MissingSolverError, Network


def test_the_cheapest_way_is_filled_first() -> None:
    network = Network()
    source, sink = network.node(), network.node()
    dear, cheap = network.arc(source, sink, 5, 3), network.arc(source, sink, 2, -1)
    flow = network.cheapest_flow(source, sink, 4)
    assert flow is not None
    assert (flow(dear), flow(cheap)) == (2, 2)


def test_too_much_flow_has_no_solution() -> None:
    network = Network()
    source, sink = network.node(), network.node()
    network.arc(source, sink, 3, 0)
    assert network.cheapest_flow(source, sink, 4) is None


def test_an_arc_without_capacity_is_left_out() -> None:
    network = Network()
    assert network.arc(network.node(), network.node(), 0, 1) == -1


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(MissingSolverError, match=r"pip install 'reassignd\[propose\]'"):
        Network().cheapest_flow(0, 1, 1)
