"""Which brokers are there, for requests that any of them may answer; known whoever is the controller."""

import asyncio
import logging

from backends.zookeeper import paths
from backends.zookeeper.fields import ZnodeError, numbered
from backends.zookeeper.tree import Tree, ZookeeperError
from backends.zookeeper.znodes import decode_broker

log = logging.getLogger(__name__)

AGAIN_SECONDS = 0.5


class LiveBrokers:
    """Addresses of registered brokers, kept true by `follow`; ours is not among them."""

    def __init__(self, tree: Tree, own_id: int) -> None:
        self._tree, self._own_id = tree, own_id
        self._addresses: list[tuple[str, int]] = []
        self._next = 0

    def choose(self) -> tuple[str, int]:
        """One of them, in turn. Raises OSError when there is none."""
        if not self._addresses:
            raise ConnectionRefusedError("no broker is registered")
        self._next += 1
        return self._addresses[self._next % len(self._addresses)]

    async def follow(self) -> None:
        """Read them again whenever they change, for ever."""
        changed = asyncio.Event()
        while True:
            changed.clear()
            try:
                await self._read(changed)
            except ZookeeperError as error:
                log.debug("cannot see the brokers: %s", error)
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            await changed.wait()

    async def _read(self, changed: asyncio.Event) -> None:
        found = []
        for name in sorted(await self._tree.children(paths.BROKERS, changed.set) or []):
            znode = await self._tree.get(f"{paths.BROKERS}/{name}", changed.set)
            if znode is None or numbered(name) in {None, self._own_id}:
                continue
            try:
                registration = decode_broker(znode.data)
            except ZnodeError as error:
                log.debug("broker %s is passed over: %s", name, error)
                continue
            found += [(e.host, e.port) for e in registration.endpoints if e.protocol == "PLAINTEXT"][:1]
        self._addresses = found
