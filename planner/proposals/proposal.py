"""Propose a plan: the entry point of this package."""

from planner.proposals.goal import Problem
from planner.proposals.network import MissingSolverError
from planner.proposals.result import BrokerChange, Lists, Load, Proposal

__all__ = ["BrokerChange", "Lists", "Load", "Proposal", "propose"]


def propose(problem: Problem) -> Proposal:
    """Find a plan with the fewest moves. Raises ProposalError, MissingSolverError."""
    try:
        from planner.proposals.outcome import outcome
        from planner.proposals.solve import solve
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    return outcome(problem, solve(problem))
