"""Keeps Python's garbage collector from scanning large messages and the long-lived state over and over.

A scan of everything stops the process for half a second when there are 100,000 reassignments. Almost nothing here
needs it: messages and records hold no cycles, connections undo theirs when they end, and counting references frees them.
What is left, such as the libraries' cycles, is collected now and then, as far as that is quick.
"""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 2**31 - 1

SWEEP_SECONDS = 60.0
"""Between two sweeps."""

QUICK = 600_000
"""Blocks of memory that a sweep may have to look through: about 20 ms. The libraries alone are about 200,000."""


def collect_young_only() -> None:
    """From now on collect young garbage only; a cycle that outlives two collections of those stays until a `Sweeper` comes."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


class Sweeper:
    """Collects old garbage, without ever stopping the process for long."""

    def __init__(self) -> None:
        self._spared = 0
        """Blocks of memory that were in use when the collector was last told to leave all that there was alone."""

    def sweep(self) -> None:
        """Look through everything while that is little. Later, through what is newer than what has been left alone."""
        used = sys.getallocatedblocks()
        if used <= QUICK:
            gc.unfreeze()
            self._spared = 0
        elif used - self._spared > QUICK:
            gc.freeze()
            self._spared = used
            return
        gc.collect()

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep()
            await asyncio.to_thread(give_back)


def give_back() -> bool:
    """Return free memory to the system, where the C library can (glibc): else a storm's is kept for the next one."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(trim(0))


@contextmanager
def gc_paused() -> Iterator[None]:
    """Build something large without collections in between, then take it out of their sight.

    Young garbage is collected first, since what is frozen is not looked at again while there is much of it.
    """
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
