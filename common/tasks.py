"""Background tasks whose failures are logged, tasks side by side, and turns on the event loop.

What nobody waits for lets the work on large requests pass. All of it shares one interpreter: beside a walk
over 100,000 rows, a request with as many takes twice the time.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from typing import Any, TypeVar

from common.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")


def spawn(
    work: Coroutine[Any, Any, None], name: str, on_failure: Callable[[BaseException], None] = lambda _: None
) -> asyncio.Task[None]:
    """Start a task. An exception that ends it is logged and passed to `on_failure`."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s ended by an error", task.get_name(), exc_info=error)
            on_failure(error)

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(ended)
    return task


RESTART_SECONDS = 60.0
"""After which lasting work that failed begins again: seldom enough for one log line each time."""


def spawn_lasting(
    begin: Callable[[], Coroutine[Any, Any, None]], name: str, clock: Clock
) -> asyncio.Task[None]:
    """Start work that is to go on as long as the server, until it returns.

    After an exception, which is logged, it begins again.
    """

    async def last() -> None:
        while True:
            try:
                await begin()
                return
            # Whatever it was: without this work, the server would go on and show what is old.
            except Exception as error:
                log.error("%s failed, and begins again in %d s", name, RESTART_SECONDS, exc_info=error)
            await clock.sleep(RESTART_SECONDS)

    return spawn(last(), name)


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results. After an exception, or if the caller is cancelled, nothing of it goes on."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await cancel(*tasks)


POLL_SECONDS = 0.002
"""The poll interval while other work goes on."""

PATIENCE_SECONDS = 0.05
"""How long a slice of a walk waits. So a walk makes progress however long the work goes on."""

ROWS_PER_SLICE = 500
"""Rows that take about a millisecond."""

IsBusy = Callable[[], bool]


async def wait_while(is_busy: IsBusy, most_seconds: float) -> None:
    """Return when `is_busy` returns False, after about `most_seconds` at the latest."""
    for _ in range(int(most_seconds / POLL_SECONDS)):
        if not is_busy():
            break
        await asyncio.sleep(POLL_SECONDS)


class Turns:
    """Gives turns to walks over the state. `is_busy` tells whether a large request is in progress."""

    def __init__(self, is_busy: IsBusy = lambda: False) -> None:
        self._is_busy = is_busy

    async def next(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Let other tasks run, and large requests for `patience_seconds`."""
        await asyncio.sleep(0)
        await wait_while(self._is_busy, patience_seconds)


async def in_slices(rows: Iterable[T], turns: Turns | None = None) -> AsyncIterator[T]:
    """Yield the rows, and let the event loop run after every slice of them.

    Background work gives `turns`, by which it also lets large requests pass.
    """
    for number, row in enumerate(rows, 1):
        yield row
        if number % ROWS_PER_SLICE == 0:
            await (asyncio.sleep(0) if turns is None else turns.next())


Steps = Generator[None, None, T]
"""Computes a result in steps of about a millisecond."""


def result_of(steps: Steps[T]) -> T:
    """Take all steps at once, and return the result."""
    results: list[T] = []
    for _ in _with_result(steps, results):
        pass
    return results[0]


async def in_steps(steps: Steps[T]) -> T:
    """Let the event loop run after every step; return the result."""
    results: list[T] = []
    for _ in _with_result(steps, results):
        await asyncio.sleep(0)
    return results[0]


def _with_result(steps: Steps[T], results: list[T]) -> Iterator[None]:
    results.append((yield from steps))
