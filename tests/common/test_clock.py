import asyncio

import pytest

from common.backoff import Backoff
from common.clock import BootClock, ManualClock, RealClock, settle, within


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock, woken = ManualClock(), list[tuple[str, float]]()

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper(*given)) for given in [("late", 3), ("early", 1), ("never", 9)]]
    await clock.advance(5)
    assert woken == [("early", 1), ("late", 3)]
    assert clock.now() == 5
    tasks[2].cancel()
    await clock.advance(5)
    assert len(woken) == 2


async def test_a_sleeper_can_sleep_again_during_an_advance() -> None:
    clock, ticks = ManualClock(), list[float]()

    async def ticking() -> None:
        while True:
            await clock.sleep(1)
            ticks.append(clock.now())

    task = asyncio.create_task(ticking())
    await clock.advance(3)
    task.cancel()
    assert ticks == [1, 2, 3]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
async def test_a_clock_is_neither_turned_back_nor_advanced_without_end(seconds: float) -> None:
    with pytest.raises(ValueError, match="advanced by a number of seconds from 0"):
        await ManualClock().advance(seconds)


async def test_the_real_clock_advances() -> None:
    clock = RealClock()
    before = clock.now()
    await clock.sleep(0)
    await settle(1)
    assert clock.now() >= before


async def test_a_wait_for_an_event_has_a_time_limit() -> None:
    clock, event = ManualClock(), asyncio.Event()
    waiting = asyncio.create_task(within(clock, 5, event))
    await clock.advance(4)
    assert not waiting.done()
    await clock.advance(1)
    assert await waiting is False


async def test_an_event_ends_the_wait() -> None:
    clock, event = ManualClock(), asyncio.Event()
    waiting = asyncio.create_task(within(clock, 5, event))
    await settle()
    event.set()
    await settle()
    assert await waiting is True


def test_the_boot_clock_does_not_go_back() -> None:
    clock = BootClock()
    assert clock.now() <= clock.now()


def test_the_pause_doubles_up_to_a_minute_while_terms_fail() -> None:
    backoff = Backoff()
    assert [backoff.next_pause() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_the_pause_is_short_again_after_a_term_that_served() -> None:
    backoff = Backoff()
    pauses = [backoff.next_pause(), backoff.next_pause()]
    backoff.reset()
    assert pauses == [0.5, 1]
    assert backoff.next_pause() == 0.5
