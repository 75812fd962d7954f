"""The listeners of all brokers, their connections, and the housekeeping over them."""

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial
from ssl import SSLContext
from typing import Generic, Protocol, TypeVar

from server.guest import Guest
from server.limits import Limits
from server.ports import Stats

log = logging.getLogger(__name__)

BACKLOG = 1024
ROUND_SECONDS = 0.5
"""How often connections are looked at, and the event loop's lag is measured."""


class Numbered(Protocol):
    """A broker, of which only the id counts here."""

    @property
    def id(self) -> int: ...


Broker = TypeVar("Broker", bound=Numbered)
Make = Callable[[Broker, Callable[[Guest], None]], Guest]
"""Makes what serves one connection to a broker, and says to the callable when it is gone."""


class Listeners(Generic[Broker]):
    """Opens and closes one listener a broker, with TLS if there is a context."""

    def __init__(
        self, make: Make[Broker], limits: Limits, stats: Stats, tls: SSLContext | None = None
    ) -> None:
        self._make = make
        self._tls = tls
        self._limits = limits
        self._stats = stats
        self._servers: dict[int, asyncio.Server] = {}
        self._guests: dict[Guest, int] = {}
        """All connections, with the broker that each is to."""
        self._housekeeper: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._guests)

    async def open(self, broker: Broker, host: str, port: int) -> tuple[str, int]:
        """Listen for `broker`; return the address, whose port was chosen if `port` is 0. OSError if that fails."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Arrival(self, broker), host, port, backlog=BACKLOG, reuse_address=True, ssl=self._tls
        )
        self._servers[broker.id] = server
        if self._housekeeper is None:
            self._housekeeper = asyncio.create_task(self._keep_house(), name="housekeeper")
        bound_host, bound_port, *_ = server.sockets[0].getsockname()
        return bound_host, bound_port

    async def close(self, broker_id: int) -> None:
        """Stop listening for the broker, and cut its connections, as if it had died."""
        server = self._servers.pop(broker_id)
        await _stop_accepting([server])
        for guest in [each for each, to in self._guests.items() if to == broker_id]:
            guest.close()
        await server.wait_closed()

    async def close_all(self, grace: float) -> None:
        """Stop listening, finish the answers under way within `grace` seconds, and close all connections."""
        await _stop_accepting(self._servers.values())
        pending = [guest.pending for guest in self._guests if guest.pending is not None]
        if pending:
            await asyncio.wait(pending, timeout=grace)
        if self._housekeeper is not None:
            self._housekeeper.cancel()
        for guest in list(self._guests):
            guest.close()
        for server in self._servers.values():
            await server.wait_closed()
        self._servers.clear()

    def admit(self, broker: Broker) -> Guest | None:
        """What serves a new connection, if there may be one more."""
        if len(self._guests) >= self._limits.max_connections:
            return None
        guest = self._make(broker, self._ended)
        self._guests[guest] = broker.id
        self._stats.connection(1)
        return guest

    def _ended(self, guest: Guest) -> None:
        del self._guests[guest]
        self._stats.connection(-1)

    async def _keep_house(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + ROUND_SECONDS
            await asyncio.sleep(ROUND_SECONDS)
            now = loop.time()
            self._stats.loop_lag(max(0.0, now - due))
            for guest in list(self._guests):
                reason = guest.overdue(now)
                if reason is not None:
                    guest.abort(reason)


async def _stop_accepting(servers: Collection[asyncio.Server]) -> None:
    """Close the servers; every connection that they accepted has its transport when this returns.

    One that is accepted but not made yet when its server closes is leaked by asyncio, open, and unknown to us.
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    await _turns(3)
    for server in servers:
        server.close()
    await _turns(2)


async def _turns(count: int) -> None:
    """Let the loop run what is due: accepting takes a turn, making the transport and telling the session two more."""
    for _ in range(count):
        await asyncio.sleep(0)


class _Arrival(asyncio.Protocol):
    """A connection until it is made, which with TLS is after the handshake, and may never be."""

    def __init__(self, listeners: Listeners[Broker], broker: Broker) -> None:
        self._listeners = listeners
        self._admit = partial(listeners.admit, broker)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        guest = self._admit()
        if guest is None:
            host, port, *_ = transport.get_extra_info("peername") or ("unknown", 0)
            already = self._listeners.connections
            log.warning("closed the connection of %s:%s: %d are open already", host, port, already)
            transport.close()
            return
        transport.set_protocol(guest)
        guest.connection_made(transport)
