"""A loop that reads znodes again whenever their watches fire.

All readers that are due run concurrently, and several changes before a round lead to one read.
"""

import asyncio
from collections.abc import Awaitable, Callable

from backends.zookeeper.session.tree import Watch
from backends.zookeeper.znodes.rejections import Rejections

Reader = Callable[[Watch], Awaitable[None]]
"""Reads znodes, sets the watch on them, and acts on what it reads."""


class WatchLoop:
    """Runs each reader once when it is added, and again whenever its watch fires. `after_round` runs after each round."""

    def __init__(self, after_round: Callable[[], Awaitable[None]], rejections: Rejections) -> None:
        self._after_round, self._rejections = after_round, rejections
        self._readers: dict[str, Reader] = {}
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()

    def add(self, name: str, reader: Reader) -> None:
        """Add a reader; a reader that has this name already stays."""
        if name not in self._readers:
            self._readers[name] = reader
            self.schedule(name)

    def drop(self, name: str) -> None:
        """Remove the reader, if there is one."""
        self._readers.pop(name, None)

    def schedule(self, name: str) -> None:
        """Run the reader in the next round."""
        if name in self._readers:
            self._due[name] = None
            self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether no reader is due."""
        return not self._due

    def wake(self) -> None:
        """Start a round, even if no reader is due."""
        self._wake.set()

    async def run(self) -> None:
        """Run rounds until cancelled. Raises ZookeeperError when ZooKeeper cannot be read."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            due = list(self._due)
            self._due.clear()
            await asyncio.gather(*(self._read(name) for name in due))
            await self._after_round()

    async def _read(self, name: str) -> None:
        reader = self._readers.get(name)
        if reader is None:
            return
        with self._rejections.skip_invalid(name):
            await reader(lambda: self.schedule(name))
