"""The embedded cluster and the ports of its brokers."""

from collections.abc import Callable, Mapping
from functools import partial

from backends.channel import Connect
from backends.clock import Clock
from backends.connections.channel import connector
from backends.connections.handshake import Caller
from backends.connections.security import PLAINTEXT, Security
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import EmbeddedCluster
from controller.events import Event
from controller.state import State
from reassignd import __version__
from reassignd.access import listener_tls, trust_in_own_listener
from reassignd.config import Settings
from reassignd.kinds import Address
from reassignd.parts import embedded_defaults, embedded_settings, limits
from reassignd.ports import Port, Ports
from reassignd.world import GRACE_SECONDS, Hooks
from server.crowd import Crowd
from server.gateway.counts import Counts
from server.listener import Listeners
from server.metric_sources import Traffic
from server.ports import Stats
from server.router import Router
from server.session import Answer, Session


class EmbeddedWorld:
    """Implements `reassignd.world.World`."""

    kind = "brokers"
    _ports: Ports

    def __init__(self, settings: Settings, state: State, hooks: Hooks, clock: Clock | None = None) -> None:
        self._settings = settings
        self.relayed = Counts()
        state.config_defaults = embedded_defaults(settings)
        self._tls = listener_tls(settings)
        self.cluster = EmbeddedCluster(
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
        listeners = Listeners(partial(Session, answer, bounds), Crowd(bounds, stats), self._tls)
        self._ports = Ports(listeners, self._settings.listener, self._settings.advertised_host)

    async def prepare(self, event: Event) -> None:
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
        security = PLAINTEXT if certificate is None else Security(tls=trust_in_own_listener(certificate))
        return connector(Caller(software_version=__version__, security=security))

    async def _listen(self, broker: EmbeddedBroker) -> Port:
        return await self._ports.open(broker)
