"""Preferred leaders are elected periodically, if that is configured."""

import asyncio
import logging
from typing import Any

import pytest

from common.clock import ManualClock
from controller.messages.event import AnyEvent
from controller.messages.events import RebalanceLeaders
from reassignd.config.config import Assignment, Settings, resolve
from reassignd.runtime.rebalance import rebalance_periodically
from server.driver.driver import DriverStoppedError


class Controller:
    def __init__(self, *elected: int) -> None:
        self.events: list[AnyEvent] = []
        self.elected = list(elected)

    async def submit(self, event: AnyEvent) -> Any:
        self.events.append(event)
        if not self.elected:
            raise DriverStoppedError("stopped")
        return self.elected.pop(0)


def settings(**values: str) -> Settings:
    return resolve([Assignment(name.replace("_", "."), value, "test") for name, value in values.items()])


async def test_it_is_off_unless_it_is_configured() -> None:
    controller = Controller(1)
    await asyncio.wait_for(rebalance_periodically(controller, settings(), ManualClock()), 5)
    assert controller.events == []


async def test_it_elects_at_the_interval_until_the_controller_stops(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    controller, clock = Controller(7, 0), ManualClock()
    configured = settings(auto_leader_rebalance_enable="true", leader_imbalance_per_broker_percentage="3")
    rebalancing = asyncio.create_task(rebalance_periodically(controller, configured, clock))
    await clock.advance(299)
    assert controller.events == []
    await clock.advance(1)
    assert controller.events == [RebalanceLeaders(3)]
    await clock.advance(600)
    assert controller.events == [RebalanceLeaders(3)] * 3
    assert rebalancing.done()
    assert caplog.messages == ["elected the preferred leaders of 7 partitions"]
