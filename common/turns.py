"""Turns on the event loop: what nobody waits for lets the work on large requests pass.

All of it shares one interpreter. Beside a walk over 100,000 rows, a request with as many takes twice the time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

LOOKS_SECONDS = 0.002
"""Pause between two looks whether the work still goes on."""

PATIENCE_SECONDS = 0.05
"""How long a slice of a walk waits. So a walk makes progress however long the work goes on."""

ROWS_PER_SLICE = 500
"""Rows that take about a millisecond."""

T = TypeVar("T")
IsBusy = Callable[[], bool]


async def wait_while(is_busy: IsBusy, most_seconds: float) -> None:
    """Return when `is_busy` returns False, after about `most_seconds` at the latest."""
    for _ in range(int(most_seconds / LOOKS_SECONDS)):
        if not is_busy():
            break
        await asyncio.sleep(LOOKS_SECONDS)


class Turns:
    """Gives turns to walks over the state. `is_busy` tells whether a large request is in progress."""

    def __init__(self, is_busy: IsBusy = lambda: False) -> None:
        self._is_busy = is_busy

    async def next(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Let other tasks run, and large requests for `patience_seconds`."""
        await asyncio.sleep(0)
        await wait_while(self._is_busy, patience_seconds)


async def in_slices(rows: Iterable[T], turns: Turns | None = None) -> AsyncIterator[T]:
    """Yield the rows. Let the event loop run after every slice of them: for background work as `turns` tell."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % ROWS_PER_SLICE == 0:
            await (asyncio.sleep(0) if turns is None else turns.next())
