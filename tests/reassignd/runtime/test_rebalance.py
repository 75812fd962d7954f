"""Preferred leaders come back by themselves, where that is configured."""

import asyncio
import logging
from typing import Any

import pytest

from controller.messages.event import AnyEvent
from controller.messages.events import RebalanceLeaders
from reassignd.config.config import Assignment, Settings, resolve
from reassignd.runtime.rebalance import rebalance_for_ever
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
    await asyncio.wait_for(rebalance_for_ever(controller, settings()), 5)
    assert controller.events == []


async def test_it_looks_now_and_then_until_the_controller_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    controller = Controller(7, 0)
    given = {"auto_leader_rebalance_enable": "true", "leader_imbalance_per_broker_percentage": "3"}
    await rebalance_for_ever(controller, settings(**given))
    assert controller.events == [RebalanceLeaders(3)] * 3
    assert slept == [300] * 3
    assert caplog.messages == ["7 partitions are led by their preferred replicas again"]
