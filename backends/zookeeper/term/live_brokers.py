"""Which brokers are there, for requests that any of them may answer; known whoever is the controller."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from backends.zookeeper.session.tree import Tree, ZookeeperError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, numbered
from backends.zookeeper.znodes.formats import Registration, decode_broker

log = logging.getLogger(__name__)

AGAIN_SECONDS = 0.5


class LiveBrokers:
    """Registrations of brokers by id, told to `on_change` by `follow`; ours is not among them."""

    def __init__(
        self, tree: Tree, own_id: int, on_change: Callable[[Mapping[int, Registration]], None]
    ) -> None:
        self._tree, self._own_id, self._on_change = tree, own_id, on_change

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
        found = {}
        for name in await self._tree.children(paths.BROKERS, changed.set) or []:
            znode = await self._tree.get(f"{paths.BROKERS}/{name}", changed.set)
            number = numbered(name)
            if znode is None or number is None or number == self._own_id:
                continue
            try:
                found[number] = decode_broker(znode.data)
            except ZnodeError as error:
                log.debug("broker %s is passed over: %s", name, error)
        self._on_change(found)


def listener_addresses(
    brokers: Mapping[int, Registration], listener: str, protocol: str
) -> dict[int, tuple[str, int]]:
    """Where each broker listens under this name, with this protocol: never at a listener that is for others."""
    return {
        broker: (each.host, each.port)
        for broker, registration in brokers.items()
        for each in registration.endpoints
        if (each.listener, each.protocol) == (listener, protocol)
    }
