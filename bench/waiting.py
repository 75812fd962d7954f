"""Waits for what another process does."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120


def wait_until(holds: Callable[[], object], what: Callable[[], str], every: float = 0.01) -> None:
    """Looks every so many seconds; raises RuntimeError, which says what did not come, after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain for {what()}")
        time.sleep(every)
