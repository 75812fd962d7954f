"""Minimum-cost flow with integer capacities and costs, solved by OR-tools (the extra `propose`)."""

from array import array
from collections.abc import Callable

MISSING = "propose needs OR-tools: pip install 'reassignd[propose]'"


class MissingSolverError(Exception):
    """OR-tools is not installed."""

    def __init__(self) -> None:
        super().__init__(MISSING)


class Network:
    """A directed graph. Nodes and arcs are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._nodes = 0
        self._tails, self._heads = array("i"), array("i")
        self._capacities, self._costs = array("q"), array("q")

    def node(self) -> int:
        """Add a node."""
        self._nodes += 1
        return self._nodes - 1

    def arc(self, tail: int, head: int, capacity: int, cost: int) -> int:
        """Add an arc; parallel arcs are allowed. An arc without capacity is left out and has the number -1."""
        if capacity <= 0:
            return -1
        self._tails.append(tail)
        self._heads.append(head)
        self._capacities.append(capacity)
        self._costs.append(cost)
        return len(self._tails) - 1

    def cheapest_flow(self, source: int, sink: int, amount: int) -> Callable[[int], int] | None:
        """Send `amount` units at the least cost. Return the flow of each arc, or None if they do not fit.

        Raises MissingSolverError.
        """
        try:
            import numpy as np
            from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
        except ModuleNotFoundError as error:
            raise MissingSolverError from error
        solver = SimpleMinCostFlow()
        capacities = np.minimum(np.frombuffer(self._capacities, np.int64), amount)
        solver.add_arcs_with_capacity_and_unit_cost(
            np.frombuffer(self._tails, np.int32),
            np.frombuffer(self._heads, np.int32),
            capacities,
            np.frombuffer(self._costs, np.int64),
        )
        supplies = np.zeros(self._nodes, np.int64)
        supplies[source], supplies[sink] = amount, -amount
        solver.set_nodes_supplies(np.arange(self._nodes, dtype=np.int32), supplies)
        status = solver.solve()
        if status == solver.INFEASIBLE:
            return None
        if status != solver.OPTIMAL:
            raise RuntimeError(f"OR-tools could not solve the flow: {status}")
        flows = solver.flows(np.arange(len(self._tails), dtype=np.int32)).tolist()

        def flow(arc: int) -> int:
            value: int = flows[arc]
            return value

        return flow
