"""Watches: what changed is read again, and read anew each time that its watch is told.

Things that change in one go are read side by side, and bursts are one reading.
"""

import asyncio
from collections.abc import Awaitable, Callable

from backends.zookeeper.session.tree import Watch
from backends.zookeeper.znodes.rejections import Rejections

Look = Callable[[Watch], Awaitable[None]]
"""Reads something with this watch on it, and acts on what it sees."""


class WatchLoop:
    """Runs looks: once when they are set, and whenever their watches are told. `after` ends each round."""

    def __init__(self, after: Callable[[], Awaitable[None]], rejections: Rejections) -> None:
        self._after, self._rejections = after, rejections
        self._looks: dict[str, Look] = {}
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()

    def set(self, name: str, look: Look) -> None:
        """Look at this from now on; one that is looked at already goes on as it is."""
        if name not in self._looks:
            self._looks[name] = look
            self.again(name)

    def drop(self, name: str) -> None:
        """Look no more."""
        self._looks.pop(name, None)

    def again(self, name: str) -> None:
        """Look soon."""
        if name in self._looks:
            self._due[name] = None
            self._wake.set()

    @property
    def settled(self) -> bool:
        """All that is set has been looked at."""
        return not self._due

    def wake(self) -> None:
        """Begin a round, though nothing may be due."""
        self._wake.set()

    async def run(self) -> None:
        """Look for ever. Raises ZookeeperError when ZooKeeper cannot be asked."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            due = list(self._due)
            self._due.clear()
            await asyncio.gather(*(self._look(name) for name in due))
            await self._after()

    async def _look(self, name: str) -> None:
        look = self._looks.get(name)
        if look is None:
            return
        with self._rejections.skip_invalid(name):
            await look(lambda: self.again(name))
