"""What the controller wants to know of the brokers that it commands, as a client of theirs."""

from functools import partial
from typing import Any, NamedTuple

from backends.client.errors import UnreachableError
from backends.client.handshake import Caller, open_connection
from backends.client.link import Link
from common.address import Address
from common.clock import Clock
from controller.state.state import State

CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 30.0


class _Reached(NamedTuple):
    address: Address
    link: Link


class TermBrokerClient:
    """Implements `backends.client.asker.Asker`: one connection a broker, to where the core knows it to be."""

    def __init__(self, state: State, caller: Caller, clock: Clock) -> None:
        self.state, self._caller, self._clock = state, caller, clock
        self._reached: dict[int, _Reached] = {}

    async def ask(self, request: tuple[Any, ...], broker: int | None = None) -> Any:
        """See `Asker.ask`; any broker is the first that is alive."""
        number = min(self.state.live, default=-1) if broker is None else broker
        known = self.state.brokers.get(number)
        if known is None:
            raise UnreachableError(f"there is no broker {number}")
        address = Address(known.host, known.port)
        reached = self._reached.get(number)
        if reached is None or reached.address != address:
            if reached is not None:
                await reached.link.close()
            connect = partial(open_connection, address, self._caller, CONNECT_SECONDS)
            reached = self._reached[number] = _Reached(address, Link(connect, self._clock))
        return await reached.link.ask(request, REQUEST_SECONDS)

    async def close(self) -> None:
        """Close all connections."""
        for reached in self._reached.values():
            await reached.link.close()
        self._reached.clear()
