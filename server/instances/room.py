"""Bounds of what is forwarded: those of the receiver, and how the sender keeps to them.

A link that exceeds them is closed, and with it all its requests. So a request waits at its own instance until
there is room for it. Lists, which need only DESCRIBE, have room of their own: they do not hold up orders.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from protocol.apis import ApiKey
from protocol.frames import MAX_FRAME, RequestFrame

IN_FLIGHT = 256
"""Most requests in progress for one instance; further ones are to be sent again."""

LARGEST_REQUESTS = 2 * MAX_FRAME
"""Bytes of the requests of one instance that are incomplete, and of those in progress."""

LARGEST_ANSWERS = 4 * MAX_FRAME
"""Bytes of incomplete answers. Answers may be larger than any request: they list all partitions."""

LARGEST_BODY = MAX_FRAME
"""Bytes of the largest request that is forwarded."""

SMALL = 64 * 1024
"""Bytes of a request that needs no room: all that can be in progress are a small part of the bounds."""

LISTS_IN_FLIGHT = 16
"""Lists in progress. Each has an answer that may be large."""


class Room:
    """The room for the requests of one link."""

    def __init__(self) -> None:
        self._lists = asyncio.Semaphore(LISTS_IN_FLIGHT), ByteBudget(MAX_FRAME // 2)
        self._others = asyncio.Semaphore(IN_FLIGHT - LISTS_IN_FLIGHT), ByteBudget(MAX_FRAME)

    @asynccontextmanager
    async def hold(self, frame: RequestFrame) -> AsyncIterator[None]:
        """Wait for room for the request, and hold it."""
        lists = frame.api_key == ApiKey.LIST_PARTITION_REASSIGNMENTS
        number, size = self._lists if lists else self._others
        async with number:
            if len(frame.body) <= SMALL:
                yield
            else:
                async with size.use(len(frame.body)):
                    yield


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
