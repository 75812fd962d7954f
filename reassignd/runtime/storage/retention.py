"""How long ended jobs are kept."""

from collections.abc import Callable
from typing import NamedTuple

from common.clock import Clock
from controller.messages.job_events import Prune
from controller.ports import Submitter
from server.driver.driver import DriverStoppedError

PERIOD_SECONDS = 60.0


class Retention(NamedTuple):
    """Limits for ended jobs: their age, their number, and the number of their partitions together."""

    milliseconds: int
    jobs: int
    partitions: int


async def prune_periodically(
    controller: Submitter, retention: Retention, now_ms: Callable[[], int], clock: Clock
) -> None:
    """Delete the jobs that exceed a limit, now and every PERIOD_SECONDS, until the controller has stopped.

    `now_ms` returns the wall-clock time, which jobs are dated with.
    """
    while True:
        try:
            oldest_ms = now_ms() - retention.milliseconds
            await controller.submit(Prune(oldest_ms, retention.jobs, retention.partitions))
        except DriverStoppedError:
            return
        await clock.sleep(PERIOD_SECONDS)
