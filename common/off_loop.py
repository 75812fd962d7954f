"""Long computations, which must not run on the event loop: the port, and a worker thread.

The thread shares the interpreter lock with the loop, which needs it after every wait for sockets. There is
one thread only: with two, the lock would be switched between them as well, and the loop would wait longer.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, Protocol, TypeVar

from common.garbage_collector import gc_paused

P = ParamSpec("P")
R = TypeVar("R")


class OffLoop(Protocol):
    """Runs functions that compute and have no side effects."""

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Return an awaitable of the function's result or exception."""
        ...


class InTurn:
    """Implements `OffLoop` by passing on one function at a time.

    For callers with fewer rights than others: however many they are, one function of theirs is in the others'
    way.
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


TURN_SECONDS = 0.0005
"""How long the worker keeps the interpreter lock when the loop waits for it. Python's 5 ms add up to 100 ms
under load."""


class WorkerThread:
    """Implements `common.off_loop.OffLoop` with one thread."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "off-loop")
        self._pending: set[Future[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a function runs or waits. One whose caller was cancelled runs to its end."""
        return bool(self._pending)

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Run the function in the thread; see `OffLoop.run`."""
        work = self._executor.submit(_computed, partial(function, *args, **kwargs))
        self._pending.add(work)
        work.add_done_callback(self._pending.discard)
        return asyncio.wrap_future(work)

    def close(self) -> None:
        """Finish the running function, and discard those that wait."""
        self._executor.shutdown(wait=True, cancel_futures=True)


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
