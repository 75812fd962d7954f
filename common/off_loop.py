"""Where what takes long to compute is computed: not on the event loop, which others wait for."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop(Protocol):
    """Runs functions that only compute."""

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """What the function returns; an exception of its is raised where this is awaited."""
        ...


class InlineExecutor:
    """An `OffLoop` for who has no other: computes at once, on the loop."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `OffLoop.run`."""
        return function(*args, **kwargs)
