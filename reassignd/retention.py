"""How long jobs are kept after they have ended."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from controller.job_events import Prune
from server.context import Submitter
from server.driver import DriverStoppedError

PERIOD_SECONDS = 60.0


class Retention(NamedTuple):
    """By age and by number; whichever is reached first."""

    milliseconds: int
    jobs: int


async def prune_for_ever(
    controller: Submitter,
    retention: Retention,
    now_ms: Callable[[], int],
    period_seconds: float = PERIOD_SECONDS,
) -> None:
    """Have old jobs forgotten, now and then; ends when the controller has stopped."""
    while True:
        try:
            await controller.submit(Prune(now_ms() - retention.milliseconds, retention.jobs))
        except DriverStoppedError:
            return
        await asyncio.sleep(period_seconds)
