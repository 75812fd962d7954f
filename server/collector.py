"""Keeps Python's garbage collector from scanning large messages and the long-lived state over and over.

A scan of everything stops the process for half a second when there are 100,000 reassignments. Almost nothing here
needs it: messages and records hold no cycles, and counting references frees them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 2**31 - 1


def spare_the_old() -> None:
    """From now on collect young garbage only; a cycle that outlives two collections of those stays."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


@contextmanager
def kept_off() -> Iterator[None]:
    """Build something large without collections in between, then take it out of their sight.

    Young garbage is collected first, since what is frozen is never looked at again.
    """
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
