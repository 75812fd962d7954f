"""A worker thread for computations that are too long for the event loop.

The thread shares the interpreter lock with the loop, which needs it after every wait for sockets. There is
one thread only: with two, the lock would be switched between them as well, and the loop would wait longer.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import ParamSpec, TypeVar

from common.garbage_collector import gc_paused

TURN_SECONDS = 0.0005
"""How long the worker keeps the interpreter lock when the loop waits for it. Python's 5 ms add up to 100 ms
under load."""

P = ParamSpec("P")
R = TypeVar("R")


class WorkerThread:
    """Implements `common.off_loop.OffLoop` with one thread."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "off-loop")
        self._pending = 0

    @property
    def is_busy(self) -> bool:
        """Whether a function runs or waits."""
        return self._pending > 0

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Run the function in the thread; see `OffLoop.run`."""
        call = partial(function, *args, **kwargs)
        result = asyncio.get_running_loop().run_in_executor(self._executor, _computed, call)
        self._pending += 1
        result.add_done_callback(self._ended)
        return result

    def close(self) -> None:
        """Finish the running function, and discard those that wait."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _ended(self, _: asyncio.Future[R]) -> None:
        self._pending -= 1


class _ShortTurns:
    """While it is entered, by any thread, threads pass the interpreter lock on after TURN_SECONDS."""

    def __init__(self) -> None:
        self._lock, self._entered, self._usual = Lock(), 0, sys.getswitchinterval()

    def __enter__(self) -> None:
        self._change(1)

    def __exit__(self, *_: object) -> None:
        self._change(-1)

    def _change(self, by: int) -> None:
        with self._lock:
            self._entered += by
            sys.setswitchinterval(TURN_SECONDS if self._entered else self._usual)


short_turns = _ShortTurns()


def _computed(call: Callable[[], R]) -> R:
    with short_turns, gc_paused:
        return call()
