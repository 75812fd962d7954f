"""Propose a plan: the entry point of this package."""

from planner.proposals.problem.goal import MissingSolverError, Problem
from planner.proposals.result import BrokerChange, InSyncLoss, Lists, Load, Proposal

__all__ = ["BrokerChange", "InSyncLoss", "Lists", "Load", "Proposal", "propose"]


def propose(problem: Problem) -> Proposal:
    """Find a plan with the fewest moves. Raises ProposalError, MissingSolverError."""
    try:
        from planner.proposals.outcome import outcome
        from planner.proposals.solver.solve import solve
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    return outcome(problem, solve(problem))
