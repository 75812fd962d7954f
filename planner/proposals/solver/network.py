"""Minimum-cost flow with integer capacities and costs, solved by OR-tools (the extra `propose`)."""

from typing import TYPE_CHECKING

from planner.proposals.problem.goal import MissingSolverError

if TYPE_CHECKING:
    from planner.proposals.problem.arrays import Ints


class Network:
    """A directed graph whose arcs are added in bulk. Nodes are numbers from 0."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Ints, Ints]] = []
        self._arcs = 0

    def add(self, tails: "Ints", heads: "Ints", capacities: "Ints", costs: "Ints") -> slice:
        """Add arcs; parallel ones are allowed. Return where their flows will be."""
        self._parts.append((tails, heads, capacities, costs))
        first, self._arcs = self._arcs, self._arcs + len(tails)
        return slice(first, self._arcs)

    def cheapest_flow(self, supplies: "Ints") -> "Ints | None":
        """Send the supply of each node (negative: its demand) at the least cost. Return the flow of each arc.

        The result is None if the supplies do not fit. Raises MissingSolverError.
        """
        try:
            import numpy as np
            from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
        except ModuleNotFoundError as error:
            raise MissingSolverError from error
        solver = SimpleMinCostFlow()
        tails, heads, capacities, costs = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        solver.add_arcs_with_capacity_and_unit_cost(
            tails.astype(np.int32),
            heads.astype(np.int32),
            np.minimum(capacities, supplies[supplies > 0].sum()).astype(np.int64),
            costs.astype(np.int64),
        )
        solver.set_nodes_supplies(np.arange(len(supplies), dtype=np.int32), supplies.astype(np.int64))
        status = solver.solve()
        if status == solver.INFEASIBLE:
            return None
        if status != solver.OPTIMAL:
            raise RuntimeError(f"OR-tools could not solve the flow: {status}")
        flows: Ints = solver.flows(np.arange(self._arcs, dtype=np.int32))
        return flows

    def cost(self, flow: "Ints") -> int:
        """Return the cost of a flow."""
        return sum(
            int((flow[first : first + len(costs)] * costs).sum())
            for first, costs in zip(self._firsts(), (part[3] for part in self._parts), strict=True)
        )

    def _firsts(self) -> list[int]:
        """Return the number of the first arc of each part."""
        firsts, first = [], 0
        for part in self._parts:
            firsts.append(first)
            first += len(part[0])
        return firsts
