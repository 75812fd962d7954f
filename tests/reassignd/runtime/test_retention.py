"""Old jobs are forgotten now and then."""

import asyncio
from typing import Any

import pytest

from controller.messages.event import AnyEvent
from controller.messages.job_events import Prune
from reassignd.runtime.retention import Retention, prune_for_ever
from server.driver.driver import DriverStoppedError


class Controller:
    def __init__(self, times: int) -> None:
        self.events: list[AnyEvent] = []
        self.times = times

    async def submit(self, event: AnyEvent) -> Any:
        if len(self.events) == self.times:
            raise DriverStoppedError("stopped")
        self.events.append(event)


async def test_it_prunes_at_once_and_again_and_ends_with_the_controller() -> None:
    controller = Controller(2)
    now = iter([10_000, 20_000, 30_000])
    await asyncio.wait_for(prune_for_ever(controller, Retention(1_000, 5, 7), lambda: next(now), 0.0), 30)
    assert controller.events == [Prune(9_000, 5, 7), Prune(19_000, 5, 7)]


async def test_between_two_times_it_waits() -> None:
    controller = Controller(2)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(prune_for_ever(controller, Retention(1, 1, 1), lambda: 0, 60.0), 0.05)
    assert len(controller.events) == 1
