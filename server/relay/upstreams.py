"""Where the upstream's brokers are, and connections to them."""

import asyncio
import logging
from collections.abc import Mapping
from ssl import SSLContext
from weakref import WeakKeyDictionary

from common.address import Address
from server.relay.upstream import Client, Upstream

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0

ANY = -1
"""In the place of a broker's id: whichever lives."""


class UnreachableError(Exception):
    """No broker could be connected to; that has been logged."""


class Upstreams:
    """Connects to brokers, over TLS if there is a context: to a given one, or to any."""

    def __init__(self, tls: SSLContext | None = None, timeout: float = CONNECT_SECONDS) -> None:
        self._tls = tls
        self._timeout = timeout
        self._brokers: dict[int, Address] = {}
        self._failing: set[int] = set()
        """Those whose failure was logged, and that are tried last."""
        self._connected: WeakKeyDictionary[Upstream, int] = WeakKeyDictionary()
        """To which broker each connection is."""
        self._turn = 0

    def update(self, brokers: Mapping[int, Address]) -> None:
        """These are all that there are.

        Connections to those that are there no more end: a broker that hangs may keep them open for ever.
        """
        self._failing -= {broker for broker, at in brokers.items() if self._brokers.get(broker) != at}
        self._brokers = dict(brokers)
        for upstream in [each for each, broker in self._connected.items() if broker not in brokers]:
            upstream.transport.abort()

    def add(self, broker: int, at: Address) -> None:
        """There is one more."""
        self._brokers[broker] = at

    async def connect(self, broker: int, client: Client) -> Upstream:
        """A connection to the broker, or to ANY, to be read from by `client`. Raises UnreachableError."""
        for candidate in self._any() if broker == ANY else [broker]:
            upstream = await self._try(candidate, client)
            if upstream is not None:
                return upstream
        raise UnreachableError

    def _any(self) -> list[int]:
        """All, each in turn first, the failing ones last."""
        ids = sorted(self._brokers)
        self._turn += 1
        first = self._turn % max(len(ids), 1)
        in_turn = [*ids[first:], *ids[:first]]
        return sorted(in_turn, key=self._failing.__contains__)

    async def _try(self, broker: int, client: Client) -> Upstream | None:
        at = self._brokers.get(broker)
        if at is None:
            return None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                _, upstream = await loop.create_connection(lambda: Upstream(client), *at, ssl=self._tls)
        # ValueError: a name that cannot be one (UnicodeError), or none where TLS needs it.
        except (OSError, ValueError) as error:
            if broker not in self._failing:
                self._failing.add(broker)
                log.warning(
                    "broker %d at %s cannot be reached: %s", broker, at, _reason(error, self._timeout)
                )
            return None
        self._connected[upstream] = broker
        if broker in self._failing:
            self._failing.remove(broker)
            log.info("broker %d at %s can be reached again", broker, at)
        return upstream


def _reason(error: Exception, timeout: float) -> str:
    return f"no connection after {timeout:g} s" if isinstance(error, TimeoutError) else str(error)
