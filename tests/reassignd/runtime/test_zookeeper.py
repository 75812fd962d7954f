"""The pauses between terms. Whole terms are tested in tests/zookeeper."""

import asyncio
import logging
from typing import Any

import pytest

from backends.zookeeper.session.tree import ZookeeperError
from backends.zookeeper.store.store import ElectedTerm
from common.clock import ManualClock
from controller.messages.event import AnyEvent
from controller.messages.events import RebalanceLeaders
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime import zookeeper
from reassignd.runtime.zookeeper import ZookeeperRuntime
from reassignd.runtime.zookeeper_term import rebalance_periodically
from server.driver.driver import DriverStoppedError
from tests.backends.zookeeper.trees import CANDIDATE


class EnoughError(BaseException):
    """Ends the loop of elections."""


class RecordingClock(ManualClock):
    """Records the pauses, and ends the loop after the last term."""

    def __init__(self, terms: list[str]) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self._terms = terms

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        del self._terms[0]
        if not self._terms:
            raise EnoughError


async def pauses(monkeypatch: pytest.MonkeyPatch, *outcomes: str) -> list[float]:
    """Return the pauses after elections that fail, terms that fail, and terms that serve."""
    terms = list(outcomes)
    clock = RecordingClock(terms)
    runtime = ZookeeperRuntime(resolve([]), clock)
    runtime._candidate = CANDIDATE

    async def elect(*_: Any) -> ElectedTerm:
        if terms[0] == "not elected":
            raise ZookeeperError("no election")
        return ElectedTerm(1, 1)

    async def serve(_: ElectedTerm) -> None:
        if terms[0] == "served":
            runtime._backoff.reset()
        raise ZookeeperError("over")

    monkeypatch.setattr(zookeeper, "run_election", elect)
    monkeypatch.setattr(runtime, "_serve_term", serve)
    with pytest.raises(EnoughError):
        await runtime._run_elections()
    runtime.close()
    return clock.pauses


async def test_pauses_double_while_terms_fail(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert await pauses(monkeypatch, "failed", "failed", "failed", "served", "failed") == [0.5, 1, 2, 0.5, 1]
    assert "the term failed before it served: the next election is in 2 s" in caplog.text


async def test_a_failed_election_is_repeated_after_a_short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses(monkeypatch, *["not elected"] * 3) == [0.5, 0.5, 0.5]


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
