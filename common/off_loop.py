"""The port for long computations, which must not run on the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop(Protocol):
    """Runs functions that compute and have no side effects."""

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Return an awaitable of the function's result or exception."""
        ...


class InTurn:
    """Implements `OffLoop` by passing on one function at a time.

    For callers with fewer rights than others: however many they are, one function of theirs is in the others' way.
    """

    def __init__(self, off_loop: OffLoop) -> None:
        self._off_loop, self._turn = off_loop, asyncio.Semaphore(1)

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `OffLoop.run`."""
        async with self._turn:
            return await self._off_loop.run(function, *args, **kwargs)


class InlineExecutor:
    """Implements `OffLoop` by calling the function at once, on the loop."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `OffLoop.run`."""
        return function(*args, **kwargs)
