"""Keeps Python's garbage collector from scanning large messages and the long-lived state over and over."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_off() -> Iterator[None]:
    """Build something large without collections in between, then take it out of their sight.

    Messages and records hold no cycles: counting references frees them. Young garbage is collected first, since
    what is frozen is never looked at again.
    """
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
