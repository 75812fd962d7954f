"""The gateway's listeners: one port that leads to any broker of the upstream, and a port for each broker."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from ssl import SSLContext

from common.address import Address
from common.off_loop import OffLoop
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.counters import Counters, RelayCounters
from server.gateway.interceptors import gateway_interceptors
from server.gateway.port_assignments import Claim, PortAssignmentError, PortPendingError, Ports
from server.gateway.services import GatewayServices, only_named
from server.relay.brokers import ANY, UpstreamBrokers
from server.relay.session import Relay, RelayedBroker, RelayServices

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settings of the gateway's listeners and of its connections to the upstream."""

    listener: Address
    """The port that leads to any broker. Brokers get the following ports, or with port 0 any free ports."""
    ports: int
    """Number of ports for brokers."""
    advertised_host: str
    """Host in the addresses that clients get."""
    tls: SSLContext | None = None
    """TLS context of the listeners."""
    upstream_tls: SSLContext | None = None
    authenticates: bool = False
    """The upstream's listener requires SASL."""
    named_only: bool = False
    """Refuse orders of principals whose name is not known."""


class Gateway:
    """The listeners and their ports. Implements `server.relay.produce.AdvertisedAddresses`.

    `services` answers reassignd's own requests. `ports` gives the positions of brokers. `off_loop` rewrites
    large answers.
    """

    def __init__(
        self,
        services: GatewayServices,
        settings: GatewaySettings,
        limits: ConnectionLimits,
        stats: Counters,
        ports: Ports,
        off_loop: OffLoop,
    ) -> None:
        self.counts = RelayCounters()
        self.bootstrap: Address | None = None
        """Address of the port that leads to any broker, while it is open."""
        self._settings = settings
        self._ports = ports
        self._upstreams = UpstreamBrokers(settings.upstream_tls)
        if settings.named_only:
            services = services._replace(answer=only_named(services.answer, services.refuse))
        interceptors = gateway_interceptors(services, self, off_loop)
        shared = RelayServices(self._upstreams, interceptors, limits, self.counts, settings.authenticates)
        self._listeners: Listeners[RelayedBroker] = Listeners(
            partial(Relay, shared), ConnectionRegistry(limits, stats), settings.tls
        )
        self._open: dict[int, Address] = {}
        """Broker -> its address for clients."""
        self._positions: dict[int, int] = {}
        """Broker -> the position of its open port."""
        self._listed: Mapping[int, Address] = {}
        """The brokers of the last `update`."""
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._changing = asyncio.Lock()
        self._closed = False

    @property
    def addresses(self) -> dict[int, Address]:
        """Broker -> its address for clients."""
        return dict(self._open)

    @property
    def connections(self) -> int:
        """Number of client connections, including those in the TLS handshake."""
        return self._listeners.connections

    def advertised(self, broker: int, actual: Address) -> Address | None:
        known = self._open.keys() | self._opening.keys() | self.counts.hidden_brokers
        if broker not in known and not self._closed:
            opening = asyncio.create_task(self._add_broker(broker, actual), name=f"port of broker {broker}")
            self._opening[broker] = opening
            opening.add_done_callback(lambda _: self._opening.pop(broker, None))
        return self._open.get(broker)

    async def update(self, brokers: Mapping[int, Address]) -> None:
        """Replace the list of brokers; open the ports of new brokers and close those of removed ones.

        Raises OSError when the first port cannot be opened. A broker whose port cannot be opened is logged,
        and hidden from clients.
        """
        async with self._changing:
            if self.bootstrap is None:
                self.bootstrap = await self._listen(ANY, 0)
            self._upstreams.update(brokers)
            self.counts.hidden_brokers.intersection_update(brokers)
            self._listed = dict(brokers)
            for removed in self._open.keys() - brokers.keys():
                await self._close_port(removed)
            for broker in sorted(brokers):
                await self._listen_for(broker)

    async def close(self, grace: float) -> None:
        """Close all ports, wait `grace` seconds at most for answers in progress, and close connections."""
        self._closed = True
        # asyncio leaks a listener whose opening is cancelled.
        await asyncio.gather(*self._opening.values())
        async with self._changing:
            await self._listeners.close_all(grace)
            self._open.clear()
            self._positions.clear()
            self.bootstrap = None

    async def _add_broker(self, broker: int, address: Address) -> None:
        """Open a port for a broker that an answer names and `update` has not listed yet."""
        async with self._changing:
            if broker not in self._open and not self._closed:
                self._upstreams.add(broker, address)
                await self._listen_for(broker)

    async def _listen_for(self, broker: int) -> None:
        hidden = self.counts.hidden_brokers
        present = {broker, *self._listed, *self._open}
        try:
            position = await self._ports.position(Claim(broker, self._settings.ports, present))
            if self._positions.get(broker) == position:
                return
            # The broker has moved, or another instance has given it the port of one that is gone.
            for former in [b for b, at in self._positions.items() if b == broker or at == position]:
                await self._close_port(former)
            self._open[broker] = await self._listen(broker, position)
            self._positions[broker] = position
        except PortPendingError:
            return  # the next update asks again
        except (OSError, PortAssignmentError) as error:
            if broker not in hidden and broker not in self._open:
                hidden.add(broker)
                log.error("broker %d is hidden from clients, it has no port: %s", broker, error)
            return
        if broker in hidden:
            hidden.remove(broker)
            log.info("broker %d has its port, clients see it: %s", broker, self._open[broker])

    async def _close_port(self, broker: int) -> None:
        del self._open[broker], self._positions[broker]
        await self._listeners.close(broker)

    async def _listen(self, broker: int, position: int) -> Address:
        """Open the port; return its address for clients."""
        host, first = self._settings.listener
        port = first and first + position
        _, bound = await self._listeners.open(RelayedBroker(broker), host, port)
        return Address(self._settings.advertised_host, bound)
