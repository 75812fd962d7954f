"""Wait for a condition in another process."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120


def wait_until(
    holds: Callable[[], object],
    what: Callable[[], str],
    every: float = 0.01,
    patience: float = PATIENCE_SECONDS,
) -> None:
    """Poll `holds` every `every` seconds.

    Raises RuntimeError with the text of `what` after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out after {patience:g} s waiting for {what()}")
        time.sleep(every)
