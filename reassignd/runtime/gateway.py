"""Gateway mode: a running Kafka as the upstream, and the relay in front of it.

`ServedUpstream` is what the gateway and the term of an instance share: the backend of the upstream, and the
submission of orders.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial

from backends.client.errors import AuthenticationError, BrokerError
from backends.client.handshake import ClientSettings
from backends.client.security import PLAINTEXT, Security
from backends.load.asking import BrokerFrames
from backends.sqlite.datadir import StoreError
from backends.upstream.backend import OnBrokers, UpstreamBackend, ignore_brokers
from backends.upstream.client import UpstreamClient
from backends.upstream.outcomes import UpstreamCounters
from backends.upstream.own_records import OwnRecords, import_leases
from common.address import Address
from common.clock import RealClock
from common.zones import host_zone
from controller.cluster.brokers import holders
from controller.messages.disk_events import MoveDisks
from controller.messages.event import Event, Reply
from controller.messages.events import AlterReassignments
from controller.messages.job_events import Queue, RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigSource
from controller.modes import GATEWAY
from controller.ports import Store
from controller.state.settings import CLUSTER_DEFAULT, SettingsState
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from reassignd.config import command_config
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.runtime.data_dir import DataDirRuntime
from reassignd.runtime.listeners.sockets import limits, refused
from reassignd.runtime.listeners.tls import listener_tls
from reassignd.runtime.served_cluster import GRACE_SECONDS, UNTHROTTLED, Hooks
from reassignd.runtime.storage.identity import claim, keep_files
from server.counters import Counters, RelayCounters
from server.dispatch.configs import check_broker
from server.dispatch.context import AllowAll
from server.dispatch.router import Router
from server.gateway.gateway import Gateway, GatewaySettings
from server.gateway.port_assignments import PortAssignmentError, PortAssignments
from server.gateway.services import GatewayServices
from server.metrics.sources import Traffic, Znodes


class ServedUpstream:
    """Base class of both; a subclass has the listeners. `permit` tells whether writes may be sent now."""

    brokers = None
    znodes = Znodes()

    def __init__(
        self,
        settings: Settings,
        state: State,
        hooks: Hooks,
        client_settings: ClientSettings,
        *,
        on_brokers: OnBrokers = ignore_brokers,
        permit: Callable[[], bool] = lambda: True,
        counters: UpstreamCounters | None = None,
    ) -> None:
        self._settings, self._state, self._hooks = settings, state, hooks
        self.authorizer, self._client_settings = AllowAll(), client_settings
        servers = settings.upstream_bootstrap_servers
        self.upstream = counters or UpstreamCounters()
        self._client = UpstreamClient(
            servers, client_settings, off_loop=hooks.off_loop, counters=self.upstream, permit=permit
        )
        self.backend = UpstreamBackend(
            self._client,
            state,
            hooks.submit,
            on_brokers=on_brokers,
            on_failure=partial(hooks.report_failure, "the connection to the upstream"),
            counters=self.upstream,
        )
        # Connections of their own: on shared ones the canary's requests would wait for the answers of polls.
        self.backend.measure_pace(UpstreamClient(servers, client_settings, permit=permit))
        self.sizes = self.backend.sizes

    @property
    def upstream_cluster_id(self) -> str:
        """See `ServedCluster.upstream_cluster_id`."""
        return self._client.cluster_id

    def bandwidth(self) -> int:
        """See `ServedCluster.bandwidth`."""
        return UNTHROTTLED

    def traffic(self) -> Mapping[int, Traffic]:
        """Nothing: the brokers have metrics of their own."""
        return {}

    def load_brokers(self) -> BrokerFrames:
        """See `ServedCluster.load_brokers`."""
        return BrokerFrames(self._state, self._client_settings, RealClock())

    def new_topic_id(self) -> bytes:
        """See `ServedCluster.new_topic_id`."""
        return uuid.uuid4().bytes

    def services(self, router: Router) -> GatewayServices:
        """Return the functions that answer the gateway's clients."""
        return GatewayServices(router.answer, router.refuse, partial(check_broker, self._state))

    async def refresh(self, topics: Collection[str] | None = None) -> str:
        """See `ServedCluster.refresh`."""
        if topics is not None:
            await self.backend.refresh_topics(topics)
            return ""
        try:
            await self.backend.look()
        except BrokerError as error:
            return f"Kafka cannot be asked: {error}"
        return ""

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit the event; for an order, after the replicas of its topics were read from the upstream."""
        if isinstance(event, AlterReassignments | Queue):
            await self.backend.refresh_topics(topic for topic, _ in event.topics or ())
        elif isinstance(event, MoveDisks):
            await self.backend.refresh_topics(row.topic for row in event.moves)
        elif isinstance(event, RollBackJob):
            finished, moves = self._state.orders.finished, self._state.disks.moves
            await self.backend.refresh_topics(
                key.topic for key in (*finished.get(event.job, ()), *moves.get(event.job, ()))
            )
        return await self._hooks.submit(event)


async def refuse_gateway(client: UpstreamClient) -> None:
    """Raise CommandError if the upstream is a gateway of reassignd.

    A gateway lists unset keys of reassignd on the brokers' default, as defaults. Kafka lists only keys that
    were set there.
    """
    resource = DescribeConfigsResource(ResourceType.BROKER, CLUSTER_DEFAULT, None)
    response = await client.ask(DescribeConfigsRequest([resource]))
    sources = {config.config_source for row in response.results for config in row.configs}
    if ConfigSource.DEFAULT in sources:
        raise CommandError(
            "bootstrap server: that is a gateway of reassignd; give Kafka's own brokers as --bootstrap-server"
        )


log = logging.getLogger(__name__)


class ServedGateway(ServedUpstream):
    """Implements `reassignd.runtime.data_dir.ListeningCluster`."""

    _gateway: Gateway

    def __init__(self, settings: Settings, state: State, hooks: Hooks) -> None:
        self._claimed = ""
        """The id of the cluster that the data directory was claimed for in this process."""
        self._kept: dict[int, int] = {}
        """The ports that are in the database too."""
        self._security = upstream_security(settings)
        client_settings = ClientSettings(software_version=__version__, security=self._security)
        super().__init__(settings, state, hooks, client_settings, on_brokers=self._brokers_seen)

    @property
    def addresses(self) -> list[Address]:
        """The bootstrap port first, then the ports by broker id."""
        return gateway_addresses(self._gateway)

    @property
    def relayed(self) -> RelayCounters:
        """See `ServedCluster.relayed`."""
        return self._gateway.counts

    def serve(self, router: Router, stats: Counters) -> None:
        """See `ServedCluster.serve`."""
        settings = self._settings
        try:
            self._ports = ports = PortAssignments(settings.data_dir, partial(holders, self._state))
        except PortAssignmentError as error:
            raise CommandError(str(error)) from error
        listening = gateway_settings(settings, self._security)
        off_loop = self._hooks.off_loop
        self._gateway = Gateway(self.services(router), listening, limits(settings), stats, ports, off_loop)

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when the upstream was polled and each of its brokers has a port."""
        try:
            await import_leases(self._settings.data_dir, self._hooks.submit)
            await self.backend.start(show_obstacle)
        except (AuthenticationError, StoreError) as error:
            raise CommandError(str(error)) from error

    async def stop(self) -> None:
        """See `ServedCluster.stop`."""
        await self._gateway.close(GRACE_SECONDS)
        await self.backend.stop()

    async def _brokers_seen(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Open a port for each broker.

        Raises CommandError for the brokers of a gateway, and for those of another cluster than that of the
        records: its partitions may have the same names.
        """
        if self._client.cluster_id not in {"", self._claimed}:
            await refuse_gateway(self._client)
            claim(self._settings.data_dir, "upstream.cluster.id", self._client.cluster_id)
            self._claimed = self._client.cluster_id
        try:
            await self._gateway.update({broker: Address(*at) for broker, at in brokers.items()})
        except OSError as error:
            raise refused(error, self._settings.listener, "listener") from error
        await self._keep_files()

    async def _keep_files(self) -> None:
        """Copy the ports into the database, if they have changed."""
        positions = dict(self._ports.positions)
        if positions == self._kept:
            return
        try:
            await asyncio.to_thread(keep_files, self._settings.data_dir)
            self._kept = positions
        except StoreError as error:
            log.warning("%s; a backup of the database lacks them until then", error)


class GatewayRuntime(DataDirRuntime):
    """Implements `Runtime` for gateway mode."""

    kind = "gateway"

    def _new_state(self) -> State:
        return State(GATEWAY, settings=SettingsState(host_zone))

    def _new_cluster(self, state: State, hooks: Hooks) -> ServedGateway:
        return ServedGateway(self._settings, state, hooks)

    def _own_records(self, store: Store) -> Store:
        return OwnRecords(store)


def upstream_security(settings: Settings) -> Security:
    """Return how to connect to the upstream."""
    path = settings.upstream_command_config
    return command_config.load(path) if path is not None else PLAINTEXT


def gateway_settings(settings: Settings, security: Security) -> GatewaySettings:
    """Return the settings of the gateway's listeners."""
    listener = settings.listener
    return GatewaySettings(
        listener,
        settings.gateway_ports,
        settings.advertised_host or listener.host,
        listener_tls(settings),
        security.tls,
        security.sasl is not None,
        settings.relay_refuse_unknown_principals,
    )


def gateway_addresses(gateway: Gateway) -> list[Address]:
    """Return the bootstrap port first, then the ports by broker id."""
    by_broker = sorted(gateway.addresses.items())
    ports = [gateway.bootstrap, *(address for _, address in by_broker)]
    return [address for address in ports if address is not None]
