"""The port to ZooKeeper: reads, watches, and multis with version checks.

Watches are ZooKeeper's: a read sets one, and it fires once, at the next change of what was read. They are called on the
event loop.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

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
    """A multi was rejected and nothing was written, because `operation` did not match the znodes; others may not either."""

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
        """Return the znode, or None if it does not exist; `watch` fires when it is created, changed or deleted."""
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
