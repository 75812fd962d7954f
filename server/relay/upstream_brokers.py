"""Addresses of the brokers behind a relay, and connections to them."""

import asyncio
import logging
from collections.abc import Mapping
from ssl import SSLContext
from weakref import WeakKeyDictionary

from common.address import Address
from server.relay.upstream_connection import ClientSide, UpstreamConnection

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0

ANY = -1
"""Broker id that stands for any reachable broker."""


class NoBrokerError(Exception):
    """No broker could be reached; the reason was logged."""


class UpstreamBrokers:
    """Connects to brokers, with TLS if there is a context: to a given broker, or to any."""

    def __init__(self, tls: SSLContext | None = None, timeout: float = CONNECT_SECONDS) -> None:
        self._tls = tls
        self._timeout = timeout
        self._brokers: dict[int, Address] = {}
        self._failing: set[int] = set()
        """Brokers whose failure was logged. They are tried last."""
        self._connected: WeakKeyDictionary[UpstreamConnection, tuple[int, Address]] = WeakKeyDictionary()
        """Connection -> broker and its address at that time."""
        self._round_robin = 0

    def update(self, brokers: Mapping[int, Address]) -> None:
        """Replace the list of brokers.

        Connections to brokers that were removed or replaced are aborted, because a broker that hangs, or whose machine
        is gone, may never close them.
        """
        self._failing -= {
            broker for broker, address in brokers.items() if self._brokers.get(broker) != address
        }
        self._brokers = dict(brokers)
        for connection, (broker, address) in list(self._connected.items()):
            if brokers.get(broker) != address:
                connection.transport.abort()

    def add(self, broker: int, address: Address) -> None:
        """Add one broker."""
        self._brokers[broker] = address

    async def connect(self, broker: int, client: ClientSide) -> UpstreamConnection:
        """Connect to the broker, or to any for ANY; `client` gets what it sends. Raises NoBrokerError."""
        for candidate in self._candidates() if broker == ANY else [broker]:
            connection = await self._try(candidate, client)
            if connection is not None:
                return connection
        raise NoBrokerError

    def _candidates(self) -> list[int]:
        """Return all brokers, each call starting with the next one; failing brokers come last."""
        ids = sorted(self._brokers)
        self._round_robin += 1
        first = self._round_robin % max(len(ids), 1)
        rotated = [*ids[first:], *ids[:first]]
        return sorted(rotated, key=self._failing.__contains__)

    async def _try(self, broker: int, client: ClientSide) -> UpstreamConnection | None:
        address = self._brokers.get(broker)
        if address is None:
            return None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                _, connection = await loop.create_connection(
                    lambda: UpstreamConnection(client), *address, ssl=self._tls
                )
        # ValueError: an invalid host name (UnicodeError), or an empty one where TLS needs it.
        except (OSError, ValueError) as error:
            if broker not in self._failing:
                self._failing.add(broker)
                log.warning(
                    "broker %d at %s cannot be reached: %s", broker, address, _reason(error, self._timeout)
                )
            return None
        self._connected[connection] = broker, address
        if broker in self._failing:
            self._failing.remove(broker)
            log.info("broker %d at %s can be reached again", broker, address)
        return connection


def _reason(error: Exception, timeout: float) -> str:
    return f"no connection after {timeout:g} s" if isinstance(error, TimeoutError) else str(error)
