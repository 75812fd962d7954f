"""The gateway as a whole: a port that leads to any of the upstream's brokers, and one for each of them."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from ssl import SSLContext

from common.address import Address
from server.connections.limits import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.gateway.interceptors import gateway_interceptors
from server.gateway.port_assignments import PortAssignmentError, PortAssignments
from server.gateway.services import GatewayServices
from server.ports import Stats
from server.relay.counters import RelayCounters
from server.relay.session import Relay, RelayedBroker, RelayServices
from server.relay.upstream_brokers import ANY, UpstreamBrokers

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Setup:
    """How the gateway is reached, and reaches the upstream."""

    listener: Address
    """The port that leads to any broker. Brokers take the ports after it; with port 0 each gets a free one."""
    ports: int
    """How many there are for brokers."""
    advertised_host: str
    """What clients are told."""
    tls: SSLContext | None = None
    """Of the listeners."""
    upstream_tls: SSLContext | None = None
    authenticates: bool = False
    """The upstream's listener wants SASL."""


class Gateway:
    """Implements `server.relay.addresses.AdvertisedAddresses`. `services` answers what is reassignd's."""

    def __init__(
        self, services: GatewayServices, setup: Setup, limits: ConnectionLimits, stats: Stats, directory: Path
    ) -> None:
        self.counts = RelayCounters()
        self.bootstrap: Address | None = None
        """Where clients find any broker, when it is open."""
        self._setup = setup
        self._places = PortAssignments(directory)
        self._upstreams = UpstreamBrokers(setup.upstream_tls)
        rules = gateway_interceptors(services, self)
        shared = RelayServices(self._upstreams, rules, limits, self.counts, setup.authenticates)
        self._listeners: Listeners[RelayedBroker] = Listeners(
            partial(Relay, shared), ConnectionRegistry(limits, stats), setup.tls
        )
        self._open: dict[int, Address] = {}
        """What clients are told, by broker."""
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._hidden: set[int] = set()
        """Brokers without a port, which has been logged."""
        self._changing = asyncio.Lock()
        self._closed = False

    @property
    def addresses(self) -> dict[int, Address]:
        """Where clients find each broker."""
        return dict(self._open)

    @property
    def connections(self) -> int:
        """Of clients, with those whose TLS is being agreed on."""
        return self._listeners.connections

    def advertised(self, broker: int, actual: Address) -> Address | None:
        known = self._open.keys() | self._opening.keys() | self._hidden
        if broker not in known and not self._closed:
            opening = asyncio.create_task(self._meet(broker, actual), name=f"port of broker {broker}")
            self._opening[broker] = opening
            opening.add_done_callback(lambda _: self._opening.pop(broker, None))
        return self._open.get(broker)

    async def update(self, brokers: Mapping[int, Address]) -> None:
        """These are the upstream's brokers, and where they are: those that are new have their port when this returns.

        Brokers that are missing lose theirs, and their clients, until they are back. Raises OSError when the first port
        cannot be had; a broker without its port is logged, and left out of all answers.
        """
        async with self._changing:
            if self.bootstrap is None:
                self.bootstrap = await self._listen(ANY, 0)
            self._upstreams.update(brokers)
            for gone in self._open.keys() - brokers.keys():
                del self._open[gone]
                await self._listeners.close(gone)
            for broker in sorted(brokers.keys() - self._open.keys()):
                await self._listen_for(broker)

    async def close(self, grace: float) -> None:
        """Stop listening, finish our own answers under way within `grace` seconds, and end all connections."""
        self._closed = True
        # A listener whose opening is cancelled is leaked by asyncio.
        await asyncio.gather(*self._opening.values())
        async with self._changing:
            await self._listeners.close_all(grace)
            self._open.clear()
            self.bootstrap = None

    async def _meet(self, broker: int, at: Address) -> None:
        """A broker that nobody has told us of: seen in an answer."""
        async with self._changing:
            if broker not in self._open and not self._closed:
                self._upstreams.add(broker, at)
                await self._listen_for(broker)

    async def _listen_for(self, broker: int) -> None:
        try:
            position = self._places.position(broker)
            if position > self._setup.ports:
                raise PortAssignmentError(
                    f"it would be the {position}th, and there are {self._setup.ports} for brokers"
                )
            self._open[broker] = await self._listen(broker, position)
        except (OSError, PortAssignmentError) as error:
            if broker not in self._hidden:
                self._hidden.add(broker)
                log.error("broker %d is hidden from clients, it has no port: %s", broker, error)
            return
        self._hidden.discard(broker)

    async def _listen(self, broker: int, position: int) -> Address:
        """What clients are told."""
        host, first = self._setup.listener
        port = first and first + position
        _, bound = await self._listeners.open(RelayedBroker(broker), host, port)
        return Address(self._setup.advertised_host, bound)
