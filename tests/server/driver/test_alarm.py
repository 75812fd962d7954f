import asyncio

import pytest

from server.driver import alarm
from server.driver.alarm import Alarm


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
    monkeypatch.setattr(alarm, "MAX_SECONDS", 0.001)
    times = Times()
    times.alarm.set(1_000_000_000)
    times.now = 1_000_000_000
    await asyncio.sleep(0.02)
    assert times.rung == [1_000_000_000]
