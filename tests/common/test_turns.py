"""Walks in the background wait for large requests, but not for ever."""

import asyncio

from common.turns import LOOKS_SECONDS, ROWS_PER_SLICE, Turns, in_slices


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
    await Turns(request.is_busy).next(patience_seconds=2 * LOOKS_SECONDS)
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
