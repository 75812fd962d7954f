"""Work too large for the event loop: one worker thread.

It shares the interpreter with the loop, which gets its turn every few milliseconds. One is enough: two would only
take turns from each other, and from the loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from server.collector import kept_off

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop:
    """Runs functions that only compute, one after the other."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "off-loop")

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Run the function in the worker; an exception of its is raised where this is awaited."""
        call = partial(function, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(self._executor, _uncollected, call)

    def close(self) -> None:
        """Finish what runs, drop what waits."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def _uncollected(call: Callable[[], R]) -> R:
    with kept_off():
        return call()
