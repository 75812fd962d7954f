"""The embedded cluster and the ports of its brokers."""

from collections.abc import Callable, Mapping
from functools import partial

from backends.client.channel import Connect, connector
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT, Security
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import SimulatedCluster
from common.address import Address
from common.clock import Clock
from common.tls import pinned_client_context
from controller.messages.event import AnyEvent
from controller.state.state import State
from reassignd import __version__
from reassignd.config.config import Settings
from reassignd.config.parts import embedded_defaults, embedded_settings, limits
from reassignd.runtime.listener_security import listener_tls
from reassignd.runtime.ports import BrokerPorts, Port
from reassignd.runtime.runtime import GRACE_SECONDS, Hooks
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.connections.session import Answer, Session
from server.dispatch.router import Router
from server.metrics.sources import Traffic
from server.ports import Stats
from server.relay.counters import RelayCounters


class EmbeddedRuntime:
    """Implements `reassignd.runtime.runtime.World`."""

    kind = "brokers"
    _ports: BrokerPorts

    def __init__(self, settings: Settings, state: State, hooks: Hooks, clock: Clock | None = None) -> None:
        self._settings = settings
        self.relayed = RelayCounters()
        state.config_defaults = embedded_defaults(settings)
        self._tls = listener_tls(settings)
        self.cluster = SimulatedCluster(
            embedded_settings(settings),
            state,
            hooks.submit,
            self._listen,
            clock=clock,
            connect=self._connect(),
            on_failure=partial(hooks.failed, "the embedded cluster"),
        )
        self.backend = self.sizes = self.brokers = self.cluster

    @property
    def addresses(self) -> list[Address]:
        """In order of broker id, while all brokers run."""
        return self._ports.addresses

    def bandwidth(self) -> int:
        """Of the simulated network."""
        return self._settings.embedded_network_bytes_per_second

    def traffic(self) -> Mapping[int, Traffic]:
        """As the brokers counted it."""
        return {
            broker: Traffic(bytes_.reassignment_in, bytes_.reassignment_out)
            for broker, bytes_ in self.cluster.traffic.items()
        }

    def serve(self, router: Router, answer: Answer, stats: Stats) -> None:
        """Every broker's port is served alike."""
        bounds = limits(self._settings)
        listeners = Listeners(partial(Session, answer, bounds), ConnectionRegistry(bounds, stats), self._tls)
        self._ports = BrokerPorts(listeners, self._settings.listener, self._settings.advertised_host)

    async def prepare(self, event: AnyEvent) -> None:
        """The state is the truth here."""

    async def start(self, waits: Callable[[str], None]) -> None:
        """Nothing is waited for."""
        await self.cluster.start()

    async def stop(self) -> None:
        """Reverse of the start."""
        await self._ports.close_all(GRACE_SECONDS)
        await self.cluster.stop()

    def _connect(self) -> Connect:
        """How the brokers reach the controller, which is behind the ports that clients use."""
        certificate = self._settings.listener_tls_certificate_file
        security = PLAINTEXT if certificate is None else Security(tls=pinned_client_context(certificate))
        return connector(Caller(software_version=__version__, security=security))

    async def _listen(self, broker: EmbeddedBroker) -> Port:
        return await self._ports.open(broker)
