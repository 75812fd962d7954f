"""Work too large for the event loop: one worker thread.

It shares the interpreter with the loop, which asks for its turn after every wait for sockets, and must get it soon.
One worker is enough: two would only take turns from each other, and from the loop.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from common.garbage_collector import gc_paused

TURN_SECONDS = 0.0005
"""How long the worker may go on when the loop wants its turn; Python's own 5 ms add up to 100 ms under load."""

P = ParamSpec("P")
R = TypeVar("R")


class WorkerThread:
    """Runs functions that only compute, one after the other."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "off-loop")

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Run the function in the worker; an exception of its is raised where this is awaited."""
        call = partial(function, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(self._executor, _computed, call)

    def close(self) -> None:
        """Finish what runs, drop what waits."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def _computed(call: Callable[[], R]) -> R:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        with gc_paused():
            return call()
    finally:
        sys.setswitchinterval(usual)
