"""The sender's room for requests is within what the receiver takes."""

import asyncio
from collections.abc import Sequence

from common.tasks import cancel
from protocol.frames import MAX_FRAME
from server.instances.room import IN_FLIGHT, LARGEST_BODY, LARGEST_REQUESTS, SMALL, ByteBudget


def test_all_requests_that_have_room_are_within_the_receivers_bound() -> None:
    headers = IN_FLIGHT * 64 * 1024
    assert MAX_FRAME + MAX_FRAME // 2 + IN_FLIGHT * SMALL + headers < LARGEST_REQUESTS
    assert LARGEST_BODY <= MAX_FRAME


class Users:
    """Users of a budget of 100 bytes, each until it is released."""

    def __init__(self) -> None:
        self.budget = ByteBudget(100)
        self.running: list[int] = []
        self.tasks: dict[int, asyncio.Task[None]] = {}

    async def come(self, *sizes: int) -> Sequence[int]:
        """Let these users come; return the sizes of all that have bytes."""
        for size in sizes:
            self.tasks[size] = asyncio.create_task(self._use(size))
        await self.settled()
        return self.running

    async def go(self, size: int) -> Sequence[int]:
        await cancel(self.tasks.pop(size))
        await self.settled()
        return self.running

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def _use(self, size: int) -> None:
        async with self.budget.use(size):
            self.running.append(size)
            try:
                await asyncio.Event().wait()
            finally:
                self.running.remove(size)


async def test_users_wait_in_their_order() -> None:
    users = Users()
    assert await users.come(60, 50, 30) == [60]
    assert await users.go(60) == [50, 30]
    assert users.budget.used == 80


async def test_a_user_of_more_than_all_bytes_gets_them_alone() -> None:
    users = Users()
    assert await users.come(60, 500, 10) == [60]
    assert await users.go(60) == [500]
    assert await users.go(500) == [10]


async def test_a_user_that_leaves_while_it_waits_holds_up_nobody() -> None:
    users = Users()
    assert await users.come(60, 500, 10) == [60]
    assert await users.go(500) == [60, 10]
    await users.go(60)
    await users.go(10)
    assert users.budget.used == 0
