"""Gateway mode: a running Kafka as the upstream, and the relay in front of it."""

import uuid
from collections.abc import Callable, Mapping
from functools import partial

from backends.client.errors import AuthenticationError
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT
from backends.datadir import StoreError
from backends.upstream.backend import UpstreamBackend
from backends.upstream.client import UpstreamClient
from backends.upstream.counters import UpstreamCounters
from backends.upstream.old_throttles import import_leases
from backends.upstream.records import OwnRecords
from common.address import Address
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.event import Event, Reply
from controller.messages.events import AlterReassignments
from controller.messages.job_events import Queue, RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigSource
from controller.model.profile import GATEWAY
from controller.ports import Store
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from reassignd import __version__
from reassignd.config import command_config
from reassignd.config.config import Settings
from reassignd.config.parts import limits
from reassignd.errors import CommandError
from reassignd.runtime.adapter import GRACE_SECONDS, Hooks
from reassignd.runtime.data_dir import DataDirRuntime
from reassignd.runtime.listeners.listener_security import listener_tls
from reassignd.runtime.listeners.sockets import refused
from reassignd.runtime.storage.identity import claim
from server.dispatch.authorizer import AllowAll
from server.dispatch.router import Router
from server.gateway.gateway import Gateway, GatewaySettings
from server.gateway.own_configs import LocalConfigs
from server.gateway.port_assignments import PortAssignmentError
from server.gateway.services import GatewayServices
from server.metrics.sources import Traffic, Znodes
from server.ports import Stats
from server.relay.counters import RelayCounters

UNTHROTTLED = 50 * 1024 * 1024
"""Bytes per second that a forecast assumes without a throttle."""


class GatewayAdapter:
    """Implements `reassignd.runtime.data_dir.ListeningAdapter`."""

    brokers = None
    znodes = Znodes()
    _gateway: Gateway

    def __init__(self, settings: Settings, state: State, hooks: Hooks) -> None:
        state.profile = GATEWAY
        self._settings, self._state, self._hooks = settings, state, hooks
        self.authorizer = AllowAll()
        self._claimed = ""
        """The id of the cluster that the data directory was claimed for in this process."""
        path = settings.upstream_command_config
        self._security = command_config.load(path) if path is not None else PLAINTEXT
        caller = Caller(software_version=__version__, security=self._security)
        servers = settings.upstream_bootstrap_servers
        self.upstream = UpstreamCounters()
        self._client = UpstreamClient(servers, caller, off_loop=hooks.off_loop, counters=self.upstream)
        self.backend = UpstreamBackend(
            self._client,
            state,
            hooks.submit,
            on_brokers=self._brokers_seen,
            on_failure=partial(hooks.report_failure, "the connection to the upstream"),
            counters=self.upstream,
        )
        self.sizes = self.backend.sizes

    @property
    def addresses(self) -> list[Address]:
        """The bootstrap port first, then the ports by broker id."""
        by_broker = sorted(self._gateway.addresses.items())
        ports = [self._gateway.bootstrap, *(address for _, address in by_broker)]
        return [address for address in ports if address is not None]

    @property
    def relayed(self) -> RelayCounters:
        """See `ClusterAdapter.relayed`."""
        return self._gateway.counts

    @property
    def upstream_cluster_id(self) -> str:
        """See `ClusterAdapter.upstream_cluster_id`."""
        return self._client.cluster_id

    def bandwidth(self) -> int:
        """See `ClusterAdapter.bandwidth`."""
        return UNTHROTTLED

    def traffic(self) -> Mapping[int, Traffic]:
        """Nothing: the brokers have metrics of their own."""
        return {}

    def new_topic_id(self) -> bytes:
        """See `ClusterAdapter.new_topic_id`."""
        return uuid.uuid4().bytes

    def serve(self, router: Router, stats: Stats) -> None:
        """See `ClusterAdapter.serve`."""
        settings, security = self._settings, self._security
        listener = settings.listener
        gateway_settings = GatewaySettings(
            listener,
            settings.gateway_ports,
            settings.advertised_host or listener.host,
            listener_tls(settings),
            security.tls,
            security.sasl is not None,
        )
        services = GatewayServices(router.answer, router.refuse, LocalConfigs(self._state, self.submit))
        try:
            self._gateway = Gateway(services, gateway_settings, limits(settings), stats, settings.data_dir)
        except PortAssignmentError as error:
            raise CommandError(str(error)) from error

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit the event; for an order, after the replicas of its topics were read from the upstream."""
        if isinstance(event, AlterReassignments | Queue):
            await self.backend.refresh_topics(topic for topic, _ in event.topics or ())
        elif isinstance(event, RollBackJob):
            await self.backend.refresh_topics(key.topic for key in self._state.finished.get(event.job, ()))
        return await self._hooks.submit(event)

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when the upstream was polled and each of its brokers has a port."""
        try:
            await import_leases(self._settings.data_dir, self._hooks.submit)
            await self.backend.start(show_obstacle)
        except (AuthenticationError, StoreError) as error:
            raise CommandError(str(error)) from error

    async def stop(self) -> None:
        """See `ClusterAdapter.stop`."""
        await self._gateway.close(GRACE_SECONDS)
        await self.backend.stop()

    async def _brokers_seen(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Open a port for each broker.

        Raises CommandError for the brokers of a gateway, and for those of another cluster than that of the records:
        its partitions may have the same names.
        """
        if self._client.cluster_id not in {"", self._claimed}:
            await _refuse_gateway(self._client)
            claim(self._settings.data_dir, "upstream.cluster.id", self._client.cluster_id)
            self._claimed = self._client.cluster_id
        try:
            await self._gateway.update({broker: Address(*at) for broker, at in brokers.items()})
        except OSError as error:
            raise refused(error, self._settings.listener, "listener") from error


class GatewayRuntime(DataDirRuntime):
    """Implements `Runtime` for gateway mode."""

    kind = "gateway"

    def _new_adapter(self, state: State, hooks: Hooks) -> GatewayAdapter:
        return GatewayAdapter(self._settings, state, hooks)

    def _own_records(self, store: Store) -> Store:
        return OwnRecords(store)


async def _refuse_gateway(client: UpstreamClient) -> None:
    """Raise CommandError if the upstream is a gateway of reassignd.

    A gateway lists unset keys of reassignd on the brokers' default, as defaults. Kafka lists only keys that were set there.
    """
    resource = DescribeConfigsResource(ResourceType.BROKER, CLUSTER_DEFAULT, None)
    response = await client.ask(DescribeConfigsRequest([resource]))
    sources = {config.config_source for row in response.results for config in row.configs}
    if ConfigSource.DEFAULT in sources:
        raise CommandError(
            "bootstrap server: that is a gateway of reassignd; give Kafka's own brokers as --bootstrap-server"
        )
