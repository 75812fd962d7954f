"""Background work (Continue) in the driver's event queue."""

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import patch

import pytest

from common.tasks import POLL_SECONDS
from controller.messages.event import AnyEvent
from controller.messages.events import BrokerStopped, Continue
from controller.state.state import Decision
from server.driver import driver
from server.driver.driver import PASSES, Alarm, EventQueue, QueuedEvent
from tests.server.rig import Rig, settle


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    async with rig.running():
        yield rig


async def test_a_decision_that_leaves_more_to_do_queues_a_continue(rig: Rig) -> None:
    events: list[AnyEvent] = []

    def waking(decision: Decision, event: AnyEvent) -> None:
        events.append(event)
        if isinstance(event, BrokerStopped):
            decision.more = True

    rig.decide = waking
    await rig.submit(1)
    await settle()
    assert events == [BrokerStopped(1), Continue()]
    assert rig.log == []


async def taken_after_a_wake(rig: Rig, later: int) -> list[AnyEvent]:
    """Return the order of decisions when more events arrive right after one that asks to be woken."""
    events: list[AnyEvent] = []

    def waking(decision: Decision, event: AnyEvent) -> None:
        events.append(event)
        if event == BrokerStopped(0):
            decision.more = True

    rig.decide = waking
    await asyncio.gather(*(rig.submit(number) for number in range(later + 1)))
    await settle()
    return events


async def test_later_events_precede_background_work(rig: Rig) -> None:
    assert await taken_after_a_wake(rig, 3) == [*map(BrokerStopped, range(4)), Continue()]


async def test_background_work_is_not_starved(rig: Rig) -> None:
    events = await taken_after_a_wake(rig, 3 * PASSES)
    assert PASSES <= events.index(Continue()) <= 2 * PASSES


async def test_background_work_waits_while_the_worker_thread_is_busy() -> None:
    busy = True
    queue = EventQueue(lambda: busy)
    queue.add(QueuedEvent(Continue(), None))
    taking = asyncio.ensure_future(queue.take())
    await asyncio.sleep(3 * POLL_SECONDS)
    assert not taking.done()
    busy = False
    assert await taking == (Continue(), None)


async def test_background_work_does_not_wait_for_ever() -> None:
    queue = EventQueue(lambda: True)
    queue.add(QueuedEvent(Continue(), None))
    with patch("server.driver.driver.PATIENCE_SECONDS", 2 * POLL_SECONDS):
        assert await queue.take() == (Continue(), None)


async def test_an_event_that_arrives_meanwhile_is_taken_at_once() -> None:
    queue = EventQueue(lambda: True)
    queue.add(QueuedEvent(Continue(), None))
    taking = asyncio.ensure_future(queue.take())
    await asyncio.sleep(0)
    queue.add(QueuedEvent(BrokerStopped(1), None))
    assert await taking == (BrokerStopped(1), None)


class Times:
    """A wall clock that a test sets, and the times at which the alarm rang."""

    def __init__(self) -> None:
        self.now = 1_000
        self.rung: list[int] = []
        self.alarm = Alarm(lambda: self.now, lambda: self.rung.append(self.now))


async def test_it_rings_at_the_time_and_once() -> None:
    times = Times()
    times.alarm.set(1_005)
    assert times.rung == []
    times.now = 1_005
    await asyncio.sleep(0.02)
    assert times.rung == [1_005]


async def test_a_time_that_has_passed_rings_at_once() -> None:
    times = Times()
    times.alarm.set(999)
    assert times.rung == [1_000]


async def test_a_new_time_replaces_the_earlier_one() -> None:
    times = Times()
    times.alarm.set(1_001)
    times.alarm.set(1_000_000)
    times.now = 1_002
    await asyncio.sleep(0.02)
    assert times.rung == []
    times.alarm.cancel()


async def test_a_cancelled_alarm_does_not_ring() -> None:
    times = Times()
    times.alarm.set(1_001)
    times.alarm.cancel()
    times.now = 1_002
    await asyncio.sleep(0.02)
    assert times.rung == []


async def test_a_clock_that_is_set_during_a_long_sleep_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "MAX_SECONDS", 0.001)
    times = Times()
    times.alarm.set(1_000_000_000)
    times.now = 1_000_000_000
    await asyncio.sleep(0.02)
    assert times.rung == [1_000_000_000]
