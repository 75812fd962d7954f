"""Jobs are rolled back when their time is over."""

import asyncio
from collections.abc import Callable
from typing import Any

from common.clock import ManualClock
from controller.messages.event import Event, Reply
from controller.messages.job_events import RollBackJob, RollBackReply
from controller.model.cluster import Job, JobKind
from controller.model.errors import DONE
from controller.modes import EMBEDDED
from controller.state.state import State
from reassignd.runtime.restoring import CHECK_SECONDS, REQUESTER, due, restore_periodically
from server.driver.driver import DriverStoppedError


def job(number: int, until_ms: int) -> Job:
    return Job(number, JobKind.PLAN, 0, "User:ann", None, 1, until_ms=until_ms)


class Controller:
    """Takes the time from each job that it rolls back, and is stopped after `times` of them."""

    def __init__(self, *jobs: Job, times: int) -> None:
        self.state = State(EMBEDDED)
        self.rolled_back: list[RollBackJob] = []
        self._times = times
        for each in jobs:
            self.state.put(each)

    async def submit(self, event: Event[Reply], /) -> Any:
        assert isinstance(event, RollBackJob)
        if len(self.rolled_back) == self._times:
            raise DriverStoppedError("stopped")
        self.rolled_back.append(event)
        self.state.put(self.state.orders.jobs[event.job]._replace(until_ms=0))
        return RollBackReply(DONE, 9)


def test_jobs_are_due_at_their_time_and_those_without_one_never() -> None:
    jobs = [job(3, 5_000), job(2, 5_001), job(1, 0), job(4, 4_000)]
    assert due(jobs, 5_000) == [3, 4]


async def test_a_job_is_rolled_back_once_when_its_time_is_over() -> None:
    controller, clock, now = Controller(job(1, 5_000), job(2, 9_000), times=1), ManualClock(), [4_000]
    run: Callable[[], int] = lambda: now[0]  # noqa: E731
    task = asyncio.create_task(restore_periodically(controller, controller.state, run, clock))
    await clock.advance(CHECK_SECONDS)
    assert controller.rolled_back == []
    now[0] = 5_000
    await clock.advance(3 * CHECK_SECONDS)
    assert controller.rolled_back == [RollBackJob(1, REQUESTER)]
    now[0] = 9_000
    await clock.advance(CHECK_SECONDS)
    assert task.done()
