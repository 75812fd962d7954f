"""A tree of znodes in memory, with ZooKeeper's versions, sessions and watches, and failures on demand."""

import asyncio
from collections.abc import Sequence

from backends.zookeeper.session.tree import (
    ANY,
    Check,
    ConflictError,
    Create,
    Delete,
    Operation,
    Set,
    Watch,
    Znode,
    ZookeeperError,
)

LIMIT_BYTES = 1024 * 1024
"""Largest size of a request (ZooKeeper: jute.maxbuffer)."""


class MemoryTree:
    """Implements `Tree`. `connect` returns further sessions on the same znodes."""

    def __init__(self, nodes: dict[str, Znode] | None = None, session: int = 1) -> None:
        self.nodes: dict[str, Znode] = {"/": Znode(None, 0, 0)} if nodes is None else nodes
        self.session_id = session
        self.log: list[dict[str, Znode]] = []
        """The znodes after each multi, for tests that crash at each write."""
        self.lost = False
        """Set it to let every call fail, as without a connection."""
        self._watches: dict[tuple[str, bool], list[Watch]] = {}
        self._zxid = max(node.mzxid for node in self.nodes.values())
        self._sequence = 0

    def survived(self, multis: int) -> "MemoryTree":
        """Return the tree as a crash after this number of multis leaves it."""
        return MemoryTree(dict(self.log[multis - 1]), self.session_id + 1)

    def connect(self) -> "MemorySession":
        """Return a session of another client."""
        return MemorySession(self, self.session_id + 1 + len(self._watches) + self._zxid)

    def expire(self, session: int) -> None:
        """End a session and delete its ephemeral znodes."""
        for path in [path for path, node in self.nodes.items() if node.ephemeral_owner == session]:
            self._fire_watches(path, _remove(self.nodes, Delete(path)))

    async def get(self, path: str, watch: Watch | None = None) -> Znode | None:
        """See `Tree.get`."""
        await self._round_trip()
        if watch is not None:
            self._watches.setdefault((path, False), []).append(watch)
        return self.nodes.get(path)

    async def get_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """See `Tree.get_all`."""
        return [await self.get(path) for path in paths]

    async def children(self, path: str, watch: Watch | None = None) -> list[str] | None:
        """See `Tree.children`."""
        await self._round_trip()
        exists = path in self.nodes
        if watch is not None:
            self._watches.setdefault((path, exists), []).append(watch)
        if not exists:
            return None
        above = path.rstrip("/") + "/"
        inside = (each.removeprefix(above) for each in self.nodes if each.startswith(above))
        return [name for name in inside if name and "/" not in name]

    async def multi(self, operations: Sequence[Operation]) -> None:
        """See `Tree.multi`."""
        await self._round_trip()
        self.write(operations, self.session_id)

    def write(self, operations: Sequence[Operation], session: int) -> None:
        """Carry out a multi at once, for the given session."""
        if sum(100 + len(getattr(each, "data", None) or b"") for each in operations) > LIMIT_BYTES:
            raise ZookeeperError("the request is larger than ZooKeeper takes")
        before = dict(self.nodes)
        self._zxid += 1
        try:
            touched = [(each.path, self._apply(each, session)) for each in operations]
        except ConflictError:
            self.nodes.clear()
            self.nodes.update(before)
            raise
        self.log.append(dict(self.nodes))
        for path, structure in touched:
            self._fire_watches(path, structure)

    def _apply(self, operation: Operation, session: int) -> bool | None:
        """Return whether a znode was created or deleted; None for a check."""
        match operation:
            case Create():
                return self._create(operation, session)
            case Delete():
                _expect(self.nodes, operation, operation.version)
                return _remove(self.nodes, operation)
            case Set():
                node = _expect(self.nodes, operation, operation.version)
                self.nodes[operation.path] = node._replace(
                    data=operation.data, version=node.version + 1, mzxid=self._zxid
                )
                return False
            case Check():
                _expect(self.nodes, operation, operation.version)
                return None

    def _create(self, operation: Create, session: int) -> bool:
        path = operation.path
        if operation.sequence:
            path = f"{path}{self._sequence:010d}"
            self._sequence += 1
        if path in self.nodes:
            raise ConflictError(operation, "it exists")
        if path.rpartition("/")[0] not in {"", *self.nodes}:
            raise ConflictError(operation, "its parent is missing")
        owner = session if operation.ephemeral else 0
        self.nodes[path] = Znode(operation.data, 0, self._zxid, self._zxid, owner)
        return True

    def _fire_watches(self, path: str, structure: bool | None) -> None:
        if structure is None:
            return
        fired = self._watches.pop((path, False), [])
        if structure:
            fired += self._watches.pop((path, True), []) if path not in self.nodes else []
            fired += self._watches.pop((path.rpartition("/")[0] or "/", True), [])
        loop = asyncio.get_running_loop()
        for watch in fired:
            loop.call_soon(watch)

    async def _round_trip(self) -> None:
        """Simulate a round trip to the server."""
        await asyncio.sleep(0)
        if self.lost:
            raise ZookeeperError("the connection is lost")


class MemorySession:
    """Another session on the znodes of a `MemoryTree`."""

    def __init__(self, tree: MemoryTree, session: int) -> None:
        self._tree, self.session_id = tree, session
        self.get, self.get_all, self.children = tree.get, tree.get_all, tree.children

    async def multi(self, operations: Sequence[Operation]) -> None:
        """See `Tree.multi`."""
        await asyncio.sleep(0)
        self._tree.write(operations, self.session_id)


def _expect(nodes: dict[str, Znode], operation: Operation, version: int) -> Znode:
    node = nodes.get(operation.path)
    if node is None:
        raise ConflictError(operation, "it is missing")
    if version not in {ANY, node.version}:
        raise ConflictError(operation, f"its version is {node.version}, not {version}")
    return node


def _remove(nodes: dict[str, Znode], operation: Delete) -> bool:
    if any(each.startswith(f"{operation.path}/") for each in nodes):
        raise ConflictError(operation, "it has children")
    del nodes[operation.path]
    return True
