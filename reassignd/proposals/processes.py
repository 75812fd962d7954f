"""What a running server has computed in processes of their own. The server itself does not import the planner."""

from collections.abc import AsyncIterable
from importlib.util import find_spec

from reassignd.proposals.child import computed


def solver_obstacle() -> str | None:
    """Return why no proposal can be computed, or None."""
    if find_spec("ortools") is not None:
        return None
    from planner.proposals.problem.goal import MissingSolverError

    return str(MissingSolverError())


async def compute(request: AsyncIterable[bytes]) -> bytes:
    """Compute a proposal; return the answer of `reassignd.proposals.worker`. Raises HelperError."""
    return await computed("reassignd.proposals.worker", request)


async def review(request: AsyncIterable[bytes]) -> bytes:
    """Forecast a plan; return the answer of `reassignd.proposals.review_worker`. Raises HelperError."""
    return await computed("reassignd.proposals.review_worker", request)
