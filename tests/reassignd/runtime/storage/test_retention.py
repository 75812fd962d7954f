"""Jobs beyond a limit are deleted periodically."""

import asyncio
from typing import Any

from common.clock import ManualClock
from controller.messages.event import AnyEvent
from controller.messages.job_events import Prune
from reassignd.runtime.storage.retention import PERIOD_SECONDS, Retention, prune_periodically
from server.driver.driver import DriverStoppedError


class Controller:
    def __init__(self, times: int) -> None:
        self.events: list[AnyEvent] = []
        self.times = times

    async def submit(self, event: AnyEvent) -> Any:
        if len(self.events) == self.times:
            raise DriverStoppedError("stopped")
        self.events.append(event)


async def test_it_prunes_at_once_and_after_each_period_until_the_controller_stops() -> None:
    controller, clock = Controller(2), ManualClock()
    times = iter([10_000, 20_000, 30_000])
    pruning = asyncio.create_task(
        prune_periodically(controller, Retention(1_000, 5, 7), lambda: next(times), clock)
    )
    await clock.advance(PERIOD_SECONDS - 1)
    assert controller.events == [Prune(9_000, 5, 7)]
    await clock.advance(1)
    assert controller.events == [Prune(9_000, 5, 7), Prune(19_000, 5, 7)]
    await clock.advance(PERIOD_SECONDS)
    assert pruning.done()
