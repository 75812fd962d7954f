"""Bytes that may be in use at the same time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ByteBudget:
    """Lets users wait, in the order in which they come, until their bytes are free.

    A user that needs more bytes than there are gets them when nobody else has any.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.used = 0
        """Bytes in use."""
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def use(self, size: int) -> AsyncIterator[None]:
        """Use this number of bytes."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        self._admit()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self.used -= size
            turn.cancel()
            self._admit()

    def _admit(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.done():
                if self.used and self.used + size > self._size:
                    return
                self.used += size
                turn.set_result(None)
            self._waiting.popleft()
