"""Requests of the controller to its brokers as a client, for example DescribeLogDirs."""

from functools import partial
from typing import NamedTuple

from backends.client.errors import UnreachableError
from backends.client.handshake import Caller, open_connection
from backends.client.link import Link
from common.address import Address
from common.clock import Clock
from controller.state.state import State
from protocol.schema import Request, Response

CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 30.0


class _Connection(NamedTuple):
    address: Address
    link: Link


class TermBrokerClient:
    """Implements `BrokerClient` with one connection for each broker, at the address that the controller has for it."""

    def __init__(self, state: State, caller: Caller, clock: Clock) -> None:
        self.state, self._caller, self._clock = state, caller, clock
        self._connections: dict[int, _Connection] = {}

    async def ask(self, request: Request[Response], broker: int | None = None) -> Response:
        """See `BrokerClient.ask`; without a broker, the live one with the lowest id is asked."""
        number = min(self.state.live, default=-1) if broker is None else broker
        known = self.state.brokers.get(number)
        if known is None:
            raise UnreachableError(f"broker {number} is not registered")
        address = Address(known.host, known.port)
        connection = self._connections.get(number)
        if connection is None or connection.address != address:
            if connection is not None:
                await connection.link.close()
            connect = partial(open_connection, address, self._caller, CONNECT_SECONDS)
            connection = self._connections[number] = _Connection(address, Link(connect, self._clock))
        return await connection.link.ask(request, REQUEST_SECONDS)

    async def close(self) -> None:
        """Close all connections; later requests open new ones."""
        for connection in self._connections.values():
            await connection.link.close()
        self._connections.clear()


class TermCanaryClient(TermBrokerClient):
    """Implements `CanaryClient`."""

    async def refresh(self) -> None:
        """Do nothing: the state has the addresses."""
