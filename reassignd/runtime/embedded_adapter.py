"""The cluster of embedded mode: simulated brokers and their ports."""

import asyncio
import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial

from backends.client.channel import Channel, Connect, connector
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT, Security
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import SimulatedCluster
from common.address import Address
from common.clock import Clock
from common.tasks import cancel, spawn
from controller.ports import SubmitEvent
from controller.state.state import State
from reassignd import __version__
from reassignd.config.config import Settings
from reassignd.config.parts import embedded_defaults, embedded_settings, limits
from reassignd.demo import create_demo_topics
from reassignd.runtime.adapter import GRACE_SECONDS, Hooks
from reassignd.runtime.listeners.listener_gate import listener_security
from reassignd.runtime.listeners.own_connections import connect_to_itself
from reassignd.runtime.listeners.ports import BrokerPorts, Port
from reassignd.runtime.listeners.renewed_certificate import PinnedCertificate
from server.connections.client_connection import ConnectionLimits
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Answer, Session
from server.counters import Counters, RelayCounters
from server.dispatch.authorizer import AllowAll, Authorizer
from server.dispatch.router import Router
from server.metrics.sources import Traffic, Znodes


class EmbeddedAdapter:
    """Implements `reassignd.runtime.data_dir.ListeningAdapter`. `clock` is that of the simulation.

    With `demo_topics` a first start creates a few topics.
    """

    upstream_cluster_id = ""
    upstream = None
    znodes = Znodes()
    _ports: BrokerPorts
    _answer: Answer
    _bounds: ConnectionLimits

    def __init__(
        self,
        settings: Settings,
        state: State,
        hooks: Hooks,
        *,
        clock: Clock | None = None,
        demo_topics: bool = False,
    ) -> None:
        self._settings = settings
        self._demo_topics = demo_topics and state.controller_epoch == 0
        self._reading_keys: asyncio.Task[None] | None = None
        self._security = listener_security(settings, state)
        self.authorizer: Authorizer = self._security.authorizer or AllowAll()
        self.relayed = RelayCounters()
        self.submit: SubmitEvent = hooks.submit
        """See `ClusterAdapter.submit`. The state needs no update: it is the only truth about the cluster."""
        state.config_defaults = embedded_defaults(settings)
        self.cluster = SimulatedCluster(
            embedded_settings(settings),
            state,
            hooks.submit,
            self._listen,
            clock=clock,
            connect=self._connect(),
            on_failure=partial(hooks.report_failure, "the embedded cluster"),
        )
        self.backend = self.sizes = self.brokers = self.cluster

    @property
    def addresses(self) -> list[Address]:
        """See `ListeningAdapter.addresses`; in the order of broker ids, while all brokers run."""
        return self._ports.addresses

    def bandwidth(self) -> int:
        """See `ClusterAdapter.bandwidth`; that of the simulated network."""
        return self._settings.embedded_network_bytes_per_second

    def traffic(self) -> Mapping[int, Traffic]:
        """See `ClusterAdapter.traffic`."""
        return {
            broker: Traffic(bytes_.reassignment_in, bytes_.reassignment_out)
            for broker, bytes_ in self.cluster.traffic.items()
        }

    async def look(self, topics: Collection[str] | None = None) -> str:
        """See `ClusterAdapter.look`. This server is the controller: its state is that of the cluster."""
        return ""

    def new_topic_id(self) -> bytes:
        """See `ClusterAdapter.new_topic_id`."""
        return uuid.uuid4().bytes

    def serve(self, router: Router, stats: Counters) -> None:
        """See `ClusterAdapter.serve`. The ports of all brokers are served in the same way."""
        bounds = limits(self._settings)
        self._answer, self._bounds = router.answer, bounds
        make = partial(Session, router.answer, bounds, gate=self._security.gate(stats.request))
        listeners = Listeners(make, ConnectionRegistry(bounds, stats), self._security.tls)
        self._ports = BrokerPorts(listeners, self._settings.listener, self._settings.advertised_host)

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """See `ClusterAdapter.start`."""
        if self._security.jwks is not None:
            await self._security.jwks.read()
            self._reading_keys = spawn(self._security.jwks.run(), "keys of signed tokens")
        await self.cluster.start()
        if self._demo_topics:
            await create_demo_topics(self, self._settings.embedded_brokers)

    async def stop(self) -> None:
        """See `ClusterAdapter.stop`."""
        if self._reading_keys is not None:
            await cancel(self._reading_keys)
        await self._ports.close_all(GRACE_SECONDS)
        await self.cluster.stop()

    def _connect(self) -> Connect:
        """Return how brokers connect to the controller: through the ports that clients use.

        Where clients must log in, brokers use connections within the process, which need no credentials.
        """
        if not self._security.is_open:
            return self._connect_to_itself
        certificate = self._settings.listener_tls_certificate_file
        if certificate is None:
            return connector(Caller(software_version=__version__, security=PLAINTEXT))
        pinned = PinnedCertificate("listener.tls", certificate)
        connect = connector(Caller(software_version=__version__, security=Security(tls=pinned.context())))

        async def connect_by_tls(host: str, port: int) -> Channel:
            pinned.context()
            return await connect(host, port)

        return connect_by_tls

    async def _connect_to_itself(self, host: str, port: int) -> Channel:
        return await connect_to_itself(self._ports.serve, self._answer, self._bounds, host, port)

    async def _listen(self, broker: EmbeddedBroker) -> Port:
        return await self._ports.open(broker)
