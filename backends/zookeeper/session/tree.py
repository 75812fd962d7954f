"""The port to ZooKeeper: reads, watches, and multis with version checks.

Watches are ZooKeeper's: a read sets one, and it fires once, at the next change of what was read. They are
called on the event loop. A `WatchLoop` reads znodes again whenever their watches fire: all readers that are
due run concurrently, and several changes before a round lead to one read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from backends.zookeeper.znodes.fields import Rejections
from controller.ports import StoreLostError

ANY = -1
"""Stands for any version of a znode."""


class Znode(NamedTuple):
    """A znode as it was read. `data` is None if it was created with null data."""

    data: bytes | None
    version: int
    czxid: int
    mzxid: int = 0
    ephemeral_owner: int = 0
    """The session that an ephemeral znode belongs to; 0 for other znodes."""


class Create(NamedTuple):
    """Create a znode; with `sequence`, ZooKeeper appends an increasing number to the path."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False


class Set(NamedTuple):
    """Replace the data of a znode that has this version."""

    path: str
    data: bytes
    version: int


class Delete(NamedTuple):
    """Delete a znode that has this version and no children."""

    path: str
    version: int = ANY


class Check(NamedTuple):
    """Require that a znode has this version."""

    path: str
    version: int


Operation = Create | Set | Delete | Check


class ZookeeperError(StoreLostError):
    """A request to ZooKeeper failed. It may be unknown whether a write was made."""


class ConflictError(ZookeeperError):
    """A multi was rejected and nothing was written, because `operation` did not match the znodes.

    Others may not either.
    """

    def __init__(self, operation: Operation, reason: str) -> None:
        super().__init__(f"{type(operation).__name__.lower()} {operation.path}: {reason}")
        self.operation = operation


Watch = Callable[[], None]


class Tree(Protocol):
    """The znodes under a chroot. Every method raises ZookeeperError when ZooKeeper cannot be reached."""

    @property
    def session_id(self) -> int:
        """The id of the session, which owns the ephemeral znodes that it creates."""
        ...

    async def get(self, path: str, watch: Watch | None = None) -> Znode | None:
        """Return the znode, or None if it does not exist.

        `watch` fires when it is created, changed or deleted.
        """
        ...

    async def get_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """Return these znodes in order. The requests are pipelined; the result is no consistent snapshot."""
        ...

    async def children(self, path: str, watch: Watch | None = None) -> list[str] | None:
        """Return the names of the children, or None if the znode does not exist.

        `watch` fires when a child is created or deleted, or when a missing znode is created.
        """
        ...

    async def multi(self, operations: Sequence[Operation]) -> None:
        """Carry out all operations or none. Raises ConflictError."""
        ...


async def ensure(tree: Tree, *paths: str) -> None:
    """Create these znodes and their parents where they are missing, with null data as Kafka does."""
    wanted = list(dict.fromkeys(ancestor for path in paths for ancestor in _lineage(path)))
    for path, znode in zip(wanted, await tree.get_all(wanted), strict=True):
        if znode is None:
            try:
                await tree.multi([Create(path)])
            except ConflictError:
                # Someone else may have created it meanwhile.
                if await tree.get(path) is None:
                    raise


def _lineage(path: str) -> Iterator[str]:
    """Yield the parents of the path from the top, then the path."""
    parts = path.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:depth])


Reader = Callable[[Watch], Awaitable[None]]
"""Reads znodes, sets the watch on them, and acts on what it reads."""


class WatchLoop:
    """Runs each reader once when it is added, and again whenever its watch fires.

    `after_round` runs after each round.
    """

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
