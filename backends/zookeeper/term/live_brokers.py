"""The registered brokers for the listeners, which relay requests to them in every state: as controller and as standby."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from backends.zookeeper.session.tree import Tree, ZookeeperError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, numbered
from backends.zookeeper.znodes.formats import Registration, decode_broker
from common.address import Address
from common.clock import Clock, RealClock

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5


class LiveBrokers:
    """Watches the registrations of brokers, and passes all of them to `on_change` by id, without our own."""

    def __init__(
        self,
        tree: Tree,
        own_id: int,
        on_change: Callable[[Mapping[int, Registration]], None],
        clock: Clock | None = None,
    ) -> None:
        self._tree, self._own_id, self._on_change = tree, own_id, on_change
        self._clock = clock or RealClock()

    async def follow(self) -> None:
        """Read the registrations at each change, until cancelled. Retries while ZooKeeper cannot be read."""
        changed = asyncio.Event()
        while True:
            changed.clear()
            try:
                await self._read(changed)
            except ZookeeperError as error:
                log.debug("cannot read the registered brokers: %s", error)
                await self._clock.sleep(RETRY_SECONDS)
                continue
            await changed.wait()

    async def _read(self, changed: asyncio.Event) -> None:
        registrations = {}
        for name in await self._tree.children(paths.BROKERS, changed.set) or []:
            znode = await self._tree.get(f"{paths.BROKERS}/{name}", changed.set)
            number = numbered(name)
            if znode is None or number is None or number == self._own_id:
                continue
            try:
                registrations[number] = decode_broker(znode.data)
            except ZnodeError as error:
                log.debug("the registration of broker %s is ignored: %s", name, error)
        self._on_change(registrations)


def listener_addresses(
    brokers: Mapping[int, Registration], listener: str, protocol: str
) -> dict[int, Address]:
    """Return the address by broker, of the listener with this name and this security protocol.

    A listener with the same name and another protocol is left out: a client's connection must not change its protocol.
    """
    return {
        broker: Address(each.host, each.port)
        for broker, registration in brokers.items()
        for each in registration.endpoints
        if (each.listener, each.protocol) == (listener, protocol)
    }
