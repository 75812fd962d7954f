"""Turns on the event loop: what nobody waits for lets the work on large requests pass.

All of it shares one interpreter. Beside a walk over 100,000 rows, a request with as many takes twice the time.
"""

import asyncio
from collections.abc import Callable

LOOKS_SECONDS = 0.002
"""Pause between two looks whether the work still goes on."""

PATIENCE_SECONDS = 0.05
"""How long a slice of a walk waits. So a walk makes progress however long the work goes on."""

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
