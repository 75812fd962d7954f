"""Linear programs, solved by GLOP of OR-tools."""

from typing import Any, NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Ints, Rates

OPTIMAL = 0
ITERATIONS = 20
"""Most steps of the solver, for each variable and constraint. Few programs need more than three; on one whose
columns nearly depend on each other it may go around in circles."""
LEAST_ITERATIONS = 10_000


class Solved(NamedTuple):
    """The values of variables, and the price of each constraint: what a wider one would save."""

    values: Rates
    prices: Rates


class LinearProgram:
    """Minimize a sum under bounds on other sums. Variables and constraints are numbers from 0."""

    def __init__(self) -> None:
        from ortools.linear_solver import linear_solver_pb2  # type: ignore[attr-defined]

        self._messages: Any = linear_solver_pb2
        self._request = linear_solver_pb2.MPModelRequest()
        self._request.solver_type = linear_solver_pb2.MPModelRequest.GLOP_LINEAR_PROGRAMMING
        self._variables = 0

    def add_variables(self, costs: Rates, most: Rates | float) -> Ints:
        """Add variables from 0 to `most`, and return their numbers."""
        variables = self._request.model.variable
        for cost, limit in zip(costs.tolist(), np.broadcast_to(most, costs.shape).tolist(), strict=True):
            variables.add(lower_bound=0.0, upper_bound=limit, objective_coefficient=cost)
        first, self._variables = self._variables, self._variables + len(costs)
        return np.arange(first, self._variables)

    def constrain(self, variables: Ints, factors: Rates, least: float, most: float) -> None:
        """Bound a weighted sum of different variables."""
        row = self._request.model.constraint.add(lower_bound=least, upper_bound=most)
        used = factors != 0
        row.var_index.extend(variables[used].tolist())
        row.coefficient.extend(factors[used].tolist())

    def solve(self) -> Solved | None:
        """Return a cheapest solution, which is a vertex; None if none was found."""
        from ortools.linear_solver.python.model_builder_helper import ModelSolverHelper

        size = self._variables + len(self._request.model.constraint)
        limit = max(LEAST_ITERATIONS, ITERATIONS * size)
        self._request.solver_specific_parameters = f"max_number_of_iterations: {limit}"
        answer = ModelSolverHelper("glop").solve_serialized_request(self._request.SerializeToString())
        response = self._messages.MPSolutionResponse()
        response.ParseFromString(answer)
        if response.status != OPTIMAL:
            return None
        return Solved(
            np.array(response.variable_value, np.float64),
            np.array(response.dual_value, np.float64),
        )
