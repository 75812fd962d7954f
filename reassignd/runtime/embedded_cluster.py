"""The cluster of embedded mode: its brokers, their ports, and the topics of `--demo-topics`.

A broker keeps its port when it restarts. Where clients must log in, brokers connect to each other by pairs of
sockets of this process. Nobody else can open them, so they need no credentials. Each one ends with the
broker's listener, like those of clients.
"""

import asyncio
import logging
import socket
import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from backends.client.channel import TIMEOUT_SECONDS, BrokerChannel, Channel, Connect, connector
from backends.client.connection import BrokerConnection
from backends.client.handshake import ClientSettings
from backends.client.security import PLAINTEXT, Security
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import EmbeddedBrokers
from backends.embedded.cluster import Settings as EmbeddedSettings
from backends.embedded.frames import EmbeddedFrames
from common.address import Address
from common.clock import Clock
from common.tasks import cancel, spawn
from controller.messages.events import CreateTopics, NewTopic
from controller.model.configs import PARTITION_BYTES, PRODUCE_RATE
from controller.ports import SubmitEvent, Submitter
from controller.state.state import State
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.runtime.listeners.listener_gate import listener_security
from reassignd.runtime.listeners.sockets import limits, refused
from reassignd.runtime.listeners.tls import PinnedCertificate
from reassignd.runtime.served_cluster import GRACE_SECONDS, Hooks
from server.connections.client_connection import ConnectionLimits, Host, ServedConnection
from server.connections.listener import Listeners, Make
from server.connections.registry import ConnectionRegistry
from server.connections.session import Answer, Session
from server.counters import Counters, RelayCounters
from server.dispatch.context import AllowAll, Authorizer, BrokerPort
from server.dispatch.router import Router
from server.metrics.sources import Traffic, Znodes
from server.security.login import TRUSTED

Serve = Callable[[int, socket.socket, Callable[[BrokerPort, Host], ServedConnection]], None]
"""Serves a socket as a connection to the broker with this port; see `BrokerPorts.serve`."""


async def connect_to_itself(
    serve: Serve, answer: Answer, limits: ConnectionLimits, host: str, port: int
) -> Channel:
    """Implements `backends.client.channel.Connect` for the brokers of this process. Raises OSError."""
    near, far = socket.socketpair()
    try:
        near.setblocking(False)
        far.setblocking(False)
        serve(port, far, partial(Session, answer, limits, gate=TRUSTED))
        _, connection = await asyncio.get_running_loop().create_unix_connection(
            lambda: BrokerConnection(Address(host, port), ClientSettings().client_id), sock=near
        )
    except BaseException:
        near.close()
        far.close()
        raise
    connection.checks_versions = False
    return BrokerChannel(connection, TIMEOUT_SECONDS)


class Port:
    """The open port of a broker.

    Implements `backends.embedded.cluster.Listener`. `host` is advertised to clients.
    """

    def __init__(self, ports: "BrokerPorts", broker: int, host: str, port: int) -> None:
        self._ports, self._broker = ports, broker
        self.host, self.port = host, port

    async def close(self) -> None:
        """Close the port and its connections."""
        await self._ports.close(self._broker)


class BrokerPorts:
    """Opens the ports: broker 1 gets `first`, and each next broker the next port.

    With port 0 each gets a free one.
    """

    def __init__(self, listeners: Listeners[BrokerPort], first: Address, advertised_host: str) -> None:
        self._listeners, self._first = listeners, first
        self._host = advertised_host or first.host
        self._chosen: dict[int, int] = {}
        self._open: set[int] = set()
        self._brokers: dict[int, BrokerPort] = {}
        """By port."""

    def serve(self, port: int, own_end: socket.socket, make: Make[BrokerPort]) -> None:
        """Serve a socket of this process as a connection to the broker with this port.

        Raises ConnectionRefusedError.
        """
        if port not in self._brokers:
            raise ConnectionRefusedError(f"there is no broker with port {port}")
        self._listeners.serve(self._brokers[port], own_end, make)

    @property
    def addresses(self) -> list[Address]:
        """Where clients connect, while all brokers run."""
        return [Address(self._host, port) for _, port in sorted(self._chosen.items())]

    async def open(self, broker: BrokerPort) -> Port:
        """Open the broker's port. Raises CommandError when it is in use."""
        wanted = self._chosen.get(broker.id, self._first.port and self._first.port + broker.id - 1)
        address = Address(self._first.host, wanted)
        try:
            _, port = await self._listeners.open(broker, address.host, address.port)
        except OSError as error:
            raise refused(error, address, "listener") from error
        self._chosen[broker.id] = port
        self._brokers[port] = broker
        self._open.add(broker.id)
        return Port(self, broker.id, self._host, port)

    async def close(self, broker: int) -> None:
        """Close the broker's port, unless `close_all` has done so."""
        if broker in self._open:
            self._open.remove(broker)
            await self._listeners.close(broker)

    async def close_all(self, grace_seconds: float) -> None:
        """Close all ports. Requests in progress are finished within the time."""
        self._open.clear()
        await self._listeners.close_all(grace_seconds)


class ServedEmbedded:
    """Implements `reassignd.runtime.data_dir.ListeningCluster`. `clock` is that of the simulation.

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
        self._demo_topics = demo_topics and state.cluster.controller_epoch == 0
        self._reading_keys: asyncio.Task[None] | None = None
        self._security = listener_security(settings, state)
        self.authorizer: Authorizer = self._security.authorizer or AllowAll()
        self.relayed = RelayCounters()
        self.submit: SubmitEvent = hooks.submit
        """See `ServedCluster.submit`. The state needs no update: it is the only truth about the cluster."""
        self.cluster = EmbeddedBrokers(
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
        """See `ListeningCluster.addresses`; in the order of broker ids, while all brokers run."""
        return self._ports.addresses

    def bandwidth(self) -> int:
        """See `ServedCluster.bandwidth`; that of the simulated network."""
        return self._settings.embedded_network_bytes_per_second

    def traffic(self) -> Mapping[int, Traffic]:
        """See `ServedCluster.traffic`."""
        return {
            broker: Traffic(bytes_.reassignment_in, bytes_.reassignment_out)
            for broker, bytes_ in self.cluster.traffic.items()
        }

    async def refresh(self, topics: Collection[str] | None = None) -> str:
        """See `ServedCluster.refresh`. This server is the controller: its state is that of the cluster."""
        return ""

    def load_brokers(self) -> EmbeddedFrames:
        """See `ServedCluster.load_brokers`."""
        return EmbeddedFrames(self.cluster.running)

    def new_topic_id(self) -> bytes:
        """See `ServedCluster.new_topic_id`."""
        return uuid.uuid4().bytes

    def serve(self, router: Router, stats: Counters) -> None:
        """See `ServedCluster.serve`. The ports of all brokers are served in the same way."""
        bounds = limits(self._settings)
        self._answer, self._bounds = router.answer, bounds
        make = partial(Session, router.answer, bounds, gate=self._security.gate(stats.request))
        listeners = Listeners(make, ConnectionRegistry(bounds, stats), self._security.tls)
        self._ports = BrokerPorts(listeners, self._settings.listener, self._settings.advertised_host)

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """See `ServedCluster.start`."""
        if self._security.jwks is not None:
            await self._security.jwks.read()
            self._reading_keys = spawn(self._security.jwks.run(), "keys of signed tokens")
        await self.cluster.start()
        if self._demo_topics:
            await create_demo_topics(self, self._settings.embedded_brokers)

    async def stop(self) -> None:
        """See `ServedCluster.stop`."""
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
            return connector(ClientSettings(software_version=__version__, security=PLAINTEXT))
        pinned = PinnedCertificate("listener.tls", certificate)
        connect = connector(
            ClientSettings(software_version=__version__, security=Security(tls=pinned.context()))
        )

        async def connect_by_tls(host: str, port: int) -> Channel:
            pinned.context()
            return await connect(host, port)

        return connect_by_tls

    async def _connect_to_itself(self, host: str, port: int) -> Channel:
        return await connect_to_itself(self._ports.serve, self._answer, self._bounds, host, port)

    async def _listen(self, broker: EmbeddedBroker) -> Port:
        return await self._ports.open(broker)


log = logging.getLogger(__name__)


class Demo(NamedTuple):
    """A topic to create. The replication factor is limited by the number of brokers."""

    name: str
    partitions: int
    replication_factor: int


TOPICS = (
    Demo("orders", 12, 3),
    Demo("payments", 6, 3),
    Demo("clicks", 24, 2),
    Demo("events", 500, 3),
)


async def create_demo_topics(controller: Submitter, brokers: int) -> None:
    """Create the topics. A topic that is refused is logged and skipped."""
    topics = [
        NewTopic(topic.name, uuid.uuid4().bytes, topic.partitions, min(topic.replication_factor, brokers))
        for topic in TOPICS
    ]
    created = await controller.submit(CreateTopics(topics))
    for row in created:
        if row.outcome.ok:
            log.info("created topic %s with %d partitions", row.name, row.partitions)
        else:
            log.warning("topic %s was not created: %s", row.name, row.outcome.error.name)


def embedded_settings(settings: Settings) -> EmbeddedSettings:
    """Return the settings of the embedded cluster."""
    return EmbeddedSettings(
        brokers=settings.embedded_brokers,
        racks=settings.embedded_racks,
        log_dirs=settings.embedded_log_dirs,
        partition_bytes=settings.embedded_partition_bytes,
        produce_bytes_per_second=settings.embedded_produce_bytes_per_second,
        network_bytes_per_second=settings.embedded_network_bytes_per_second,
        disk_bytes_per_second=settings.embedded_disk_bytes_per_second,
        replica_lag_time_seconds=settings.replica_lag_time_max_ms / 1000,
        tick_seconds=settings.embedded_tick_ms / 1000,
    )


def embedded_defaults(settings: Settings) -> dict[str, str]:
    """Return the defaults of the topic configs that only the embedded cluster has."""
    return {
        PARTITION_BYTES: str(settings.embedded_partition_bytes),
        PRODUCE_RATE: str(int(settings.embedded_produce_bytes_per_second)),
    }
