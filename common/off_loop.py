"""The port for long computations, which must not run on the event loop."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop(Protocol):
    """Runs functions that compute and have no side effects."""

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Return an awaitable of the function's result or exception."""
        ...


class InlineExecutor:
    """Implements `OffLoop` by calling the function at once, on the loop."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `OffLoop.run`."""
        return function(*args, **kwargs)
