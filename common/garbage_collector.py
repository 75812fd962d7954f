"""Settings of Python's garbage collector: it does not scan large messages and long-lived state repeatedly.

With 100,000 reassignments a full collection stops the process for half a second, and finds almost nothing:
messages and records have no cycles, and connections remove theirs when they end, so reference counting frees
them. The remaining cycles, for example those of libraries, are collected periodically while that is quick.
"""

import asyncio
import ctypes
import gc
import sys
from threading import Lock

NEVER = 2**31 - 1

SWEEP_SECONDS = 60.0
"""Pause between two sweeps."""

QUICK = 600_000
"""Memory blocks that a sweep examines in about 20 ms. The libraries alone take about 200,000."""


def collect_young_only() -> None:
    """Collect only the two young generations from now on.

    Older cycles stay until a `Sweeper` collects them.
    """
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


class Sweeper:
    """Collects the old generation periodically, with short pauses."""

    def __init__(self) -> None:
        self._spared = 0
        """Memory blocks in use at the last `gc.freeze`."""

    def sweep(self) -> None:
        """Collect all objects while they are few. Otherwise freeze them, and collect the newer ones only."""
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
        """Sweep periodically, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep()
            await asyncio.to_thread(give_back)


def give_back() -> bool:
    """Return free memory to the system if the C library can (glibc).

    It keeps the memory of a peak otherwise.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(trim(0))


class _Pause:
    """Pauses collections while it is entered, by any thread or decision, and freezes all objects afterwards.

    Young garbage is collected first, since frozen objects are not examined again while there are many.
    """

    def __init__(self) -> None:
        self._lock, self._entered = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._entered:
                gc.collect(1)
                gc.disable()
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                gc.freeze()
                gc.enable()


gc_paused = _Pause()
"""Entered while large structures are built."""
