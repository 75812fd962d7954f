"""Asks brokers for large answers, which stay bytes, over connections that nothing else uses.

On shared ones, polls and steps would wait for these answers.
"""

from functools import partial
from typing import Protocol

from backends.client.connection import BrokerConnection, Link
from backends.client.errors import UnreachableError, UnsupportedError
from backends.client.exchange import Encode
from backends.client.handshake import ClientSettings, open_connection
from common.address import Address
from common.clock import Clock
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.frames import EncodedRequest, ResponseFrame

CONNECT_SECONDS = 10.0


class Brokers(Protocol):
    """The brokers of a cluster."""

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        """Return the answer to a request in the highest of `versions` that the broker serves.

        Raises BrokerError; UnsupportedError if it serves none of them.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class BrokerFrames:
    """Implements `Brokers`, at the addresses that the controller knows."""

    def __init__(self, state: State, client_settings: ClientSettings, clock: Clock) -> None:
        self._state, self._client_settings, self._clock = state, client_settings, clock
        self._links: dict[int, tuple[Address, Link]] = {}

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        """See `Brokers.exchange`."""

        async def ask(connection: BrokerConnection) -> ResponseFrame:
            version = _highest(connection, key, versions)
            return await connection.exchange(EncodedRequest(key, version, await encode(version)), seconds)

        return await (await self._link(broker)).use(ask)

    async def close(self) -> None:
        """See `Brokers.close`."""
        links, self._links = self._links, {}
        for _, link in links.values():
            await link.close()

    async def _link(self, broker: int) -> Link:
        # Taken out at once: several tasks come here while one of them waits for the end of a connection.
        gone = [self._links.pop(each)[1] for each in self._links.keys() - self._state.cluster.brokers.keys()]
        for link in gone:
            await link.close()
        known = self._state.cluster.brokers.get(broker)
        if known is None:
            raise UnreachableError(f"there is no broker {broker}")
        address = Address(known.host, known.port)
        if (open_link := self._links.get(broker)) is not None:
            if open_link[0] == address:
                return open_link[1]
            await open_link[1].close()
        link = Link(partial(open_connection, address, self._client_settings, CONNECT_SECONDS), self._clock)
        self._links[broker] = address, link
        return link


def _highest(connection: BrokerConnection, key: ApiKey, versions: range) -> int:
    served = connection.versions.get(key, range(0))
    common = set(served) & set(versions)
    if not common:
        raise UnsupportedError(
            f"{connection.peer} does not serve {key.name} in version {versions[0]} or later"
        )
    return max(common)
