"""The tree of znodes as a port: what we ask of ZooKeeper, and what can go wrong.

Watches are ZooKeeper's: set with a read, told once of the next change to what was read, on the event loop.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from controller.ports import StoreLostError

ANY = -1
"""A version that every znode has, for writes that need not know."""


class Znode(NamedTuple):
    """A znode as it was read. `data` is None when it was made with none."""

    data: bytes | None
    version: int
    czxid: int
    mzxid: int = 0
    ephemeral_owner: int = 0
    """The session that an ephemeral znode goes with, else 0."""


class Create(NamedTuple):
    """Make a znode; with `sequence` a growing number is added to the path."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False


class Set(NamedTuple):
    """Replace the data of a znode of that version."""

    path: str
    data: bytes
    version: int


class Delete(NamedTuple):
    """Remove a znode of that version; it has no children."""

    path: str
    version: int = ANY


class Check(NamedTuple):
    """The znode must have that version."""

    path: str
    version: int


Operation = Create | Set | Delete | Check


class ZookeeperError(StoreLostError):
    """ZooKeeper did not do it; whether a write was made may be unknown."""


class ConflictError(ZookeeperError):
    """An operation did not fit what is there; nothing was written. `operation` is the first that did not fit."""

    def __init__(self, operation: Operation, reason: str) -> None:
        super().__init__(f"{type(operation).__name__.lower()} {operation.path}: {reason}")
        self.operation = operation


Watch = Callable[[], None]


class Tree(Protocol):
    """Znodes under a chroot. Every call raises ZookeeperError when the server cannot be asked."""

    @property
    def session_id(self) -> int:
        """The id of the session that ephemeral znodes go with."""
        ...

    async def get(self, path: str, watch: Watch | None = None) -> Znode | None:
        """The znode, or None when there is none; `watch` is told when it is made, changed or removed."""
        ...

    async def get_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """These znodes, in order, asked for in one go; it is not one snapshot."""
        ...

    async def children(self, path: str, watch: Watch | None = None) -> list[str] | None:
        """The names of the children, or None when there is no such znode.

        `watch` is told when a child comes or goes, and when a znode that is missing is made.
        """
        ...

    async def multi(self, operations: Sequence[Operation]) -> None:
        """All of it or nothing. Raises ConflictError."""
        ...


async def ensure(tree: Tree, *paths: str) -> None:
    """Make these znodes, and those above them, where they are missing; with null data as Kafka does."""
    wanted = list(dict.fromkeys(above for path in paths for above in _down_to(path)))
    for path, there in zip(wanted, await tree.get_all(wanted), strict=True):
        if there is None:
            try:
                await tree.multi([Create(path)])
            except ConflictError:
                if await tree.get(path) is None:
                    raise


def _down_to(path: str) -> Iterator[str]:
    """The znodes above, from the top, and the znode."""
    parts = path.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:depth])
