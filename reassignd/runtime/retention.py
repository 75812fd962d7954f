"""How long jobs are kept after they have ended."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from controller.messages.job_events import Prune
from controller.ports import Submitter
from server.driver.driver import DriverStoppedError

PERIOD_SECONDS = 60.0


class Retention(NamedTuple):
    """By age, by number, and by the partitions that they had; whichever is reached first."""

    milliseconds: int
    jobs: int
    partitions: int


async def prune_for_ever(
    controller: Submitter,
    retention: Retention,
    now_ms: Callable[[], int],
    period_seconds: float = PERIOD_SECONDS,
) -> None:
    """Have old jobs forgotten, now and then; ends when the controller has stopped."""
    while True:
        try:
            before = now_ms() - retention.milliseconds
            await controller.submit(Prune(before, retention.jobs, retention.partitions))
        except DriverStoppedError:
            return
        await asyncio.sleep(period_seconds)
