"""Rolls jobs back whose time has come (`Job.until_ms`), such as demotions with `--until`.

The time is a record of the job, so that a restart or a take-over changes nothing: whoever is active looks.
"""

import logging
from collections.abc import Callable, Iterable

from common.clock import Clock
from common.wording import counted
from controller.messages.event import Requester
from controller.messages.job_events import RollBackJob
from controller.model.cluster import Job
from controller.ports import Submitter
from controller.state.state import State
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
REQUESTER = Requester("reassignd", "until")
"""Who rolls back, in the job and in the audit log."""


def due(jobs: Iterable[Job], now_ms: int) -> list[int]:
    """Return the jobs that are to be rolled back now, in order."""
    return sorted(job.id for job in jobs if 0 < job.until_ms <= now_ms)


async def restore_periodically(
    controller: Submitter, state: State, now_ms: Callable[[], int], clock: Clock
) -> None:
    """Roll back what is due, now and every CHECK_SECONDS, until the controller has stopped."""
    while True:
        for number in due(state.orders.jobs.values(), now_ms()):
            try:
                reply = await controller.submit(RollBackJob(number, REQUESTER))
            except DriverStoppedError:
                return
            by = f"job {reply.job} rolls it back" if reply.job else "nothing is to be rolled back"
            log.info("the time of job %d is over: %s%s", number, by, _left(len(reply.skipped)))
        await clock.sleep(CHECK_SECONDS)


def _left(skipped: int) -> str:
    return f"; {counted(skipped, 'partition')} changed since, and stay" if skipped else ""
