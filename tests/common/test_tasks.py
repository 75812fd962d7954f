"""Walks in the background wait for large requests, but not for ever."""

import asyncio
import logging

import pytest

from common.clock import ManualClock, settle
from common.tasks import (
    POLL_SECONDS,
    RESTART_SECONDS,
    ROWS_PER_SLICE,
    Steps,
    Turns,
    cancel,
    in_slices,
    in_steps,
    result_of,
    side_by_side,
    spawn,
    spawn_lasting,
)


async def fail() -> None:
    raise ValueError("of all things")


async def wait() -> None:
    await settle(1_000)


async def test_a_task_that_fails_is_logged_under_its_name(caplog: pytest.LogCaptureFixture) -> None:
    await asyncio.wait([spawn(fail(), "our-task")])
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "our-task ended by an error")


async def test_lasting_work_that_fails_begins_again_until_it_returns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, works = ManualClock(), [fail(), fail(), settle(1)]
    task = spawn_lasting(lambda: works.pop(0), "our-task", clock)
    for left in (2, 1, 0):
        await settle(10)
        assert (len(works), task.done()) == (left, left == 0)
        await clock.advance(RESTART_SECONDS)
    assert [each.getMessage() for each in caplog.records] == ["our-task failed, and begins again in 60 s"] * 2


async def test_the_error_of_a_task_is_passed_to_the_callback() -> None:
    errors: list[BaseException] = []
    await asyncio.wait([spawn(fail(), "our-task", errors.append)])
    assert list(map(str, errors)) == ["of all things"]


async def test_a_task_that_is_cancelled_or_ends_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    await cancel(spawn(wait(), "waits"))
    await spawn(settle(1), "ends")
    assert caplog.records == []


async def test_what_runs_side_by_side_returns_its_results_in_order() -> None:
    async def after(steps: int) -> int:
        await settle(steps)
        return steps

    assert await side_by_side(map(after, (3, 1, 2))) == [3, 1, 2]


async def test_what_runs_side_by_side_has_ended_after_a_failure() -> None:
    ended = []

    async def wait_long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(ValueError, match="of all things"):
        await side_by_side([wait_long(), fail()])
    assert ended == [True]


def counting(log: list[str], most: int) -> Steps[int]:
    for number in range(most):
        log.append(f"step {number}")
        yield
    return most


def test_steps_can_be_taken_at_once() -> None:
    log: list[str] = []
    assert (result_of(counting(log, 2)), log) == (2, ["step 0", "step 1"])


async def test_other_tasks_run_between_steps() -> None:
    log: list[str] = []
    asyncio.get_running_loop().call_soon(log.append, "other")
    assert await in_steps(counting(log, 2)) == 2
    assert log == ["step 0", "other", "step 1"]


class Request:
    """A large request that is in progress for some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_busy(self) -> bool:
        self.looks -= 1
        return self.looks >= 0


async def test_a_turn_waits_until_the_request_has_ended() -> None:
    request = Request(3)
    await Turns(request.is_busy).next()
    assert request.looks == -1


async def test_a_turn_does_not_wait_for_ever() -> None:
    request = Request(1_000_000)
    await Turns(request.is_busy).next(patience_seconds=2 * POLL_SECONDS)
    assert request.looks == 1_000_000 - 2


async def test_other_tasks_run_between_two_turns() -> None:
    ran = asyncio.create_task(asyncio.sleep(0))
    turns = Turns()
    await turns.next()
    await turns.next()
    assert ran.done()


async def test_slices_contain_all_rows() -> None:
    count = 2 * ROWS_PER_SLICE + 1
    assert [row async for row in in_slices(range(count))] == list(range(count))
