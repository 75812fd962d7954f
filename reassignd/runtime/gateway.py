"""A running Kafka, and the gateway before it."""

from collections.abc import Callable, Mapping
from functools import partial

from backends.client.errors import AuthenticationError
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT
from backends.datadir import StoreError
from backends.upstream.backend import UpstreamBackend
from backends.upstream.client import UpstreamClient
from backends.upstream.old_throttles import import_leases
from common.address import Address
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments
from controller.messages.job_events import Queue, RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigSource
from controller.model.profile import GATEWAY
from controller.state.state import State
from controller.throttle.desired import throttle_rate
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from reassignd import __version__
from reassignd.config import command_config
from reassignd.config.config import Settings
from reassignd.config.parts import limits
from reassignd.errors import CommandError
from reassignd.runtime.identity import claim
from reassignd.runtime.listener_security import listener_tls
from reassignd.runtime.runtime import GRACE_SECONDS, Hooks
from reassignd.runtime.sockets import refused
from server.connections.session import Answer
from server.dispatch.router import Router
from server.gateway.gateway import Gateway, Setup
from server.gateway.port_assignments import PortAssignmentError
from server.gateway.services import GatewayServices
from server.metrics.sources import Traffic
from server.ports import Stats
from server.relay.counters import RelayCounters

UNTHROTTLED = 50 * 1024 * 1024
"""Bytes a second that a forecast goes by when no throttle says anything."""


class GatewayRuntime:
    """Implements `reassignd.runtime.runtime.World`."""

    kind = "gateway"
    brokers = None
    _gateway: Gateway

    def __init__(self, settings: Settings, state: State, hooks: Hooks) -> None:
        state.profile = GATEWAY
        self._settings, self._state, self._hooks = settings, state, hooks
        self._claimed = ""
        """The cluster that the records are known to be of."""
        path = settings.upstream_command_config
        self._security = command_config.load(path) if path is not None else PLAINTEXT
        caller = Caller(software_version=__version__, security=self._security)
        servers = settings.upstream_bootstrap_servers
        self._client = UpstreamClient(servers, caller, off_loop=hooks.off_loop)
        self.backend = UpstreamBackend(
            self._client,
            state,
            hooks.submit,
            on_brokers=self._brokers_seen,
            on_failure=partial(hooks.failed, "the connection to the upstream"),
        )
        self.sizes = self.backend.sizes

    @property
    def addresses(self) -> list[Address]:
        """The port that leads to any broker first."""
        by_broker = sorted(self._gateway.addresses.items())
        found = [self._gateway.bootstrap, *(address for _, address in by_broker)]
        return [address for address in found if address is not None]

    @property
    def relayed(self) -> RelayCounters:
        """By the gateway."""
        return self._gateway.counts

    def bandwidth(self) -> int:
        """The throttle, or a guess."""
        return throttle_rate(self._state) or UNTHROTTLED

    def traffic(self) -> Mapping[int, Traffic]:
        """The brokers count it themselves."""
        return {}

    def serve(self, router: Router, answer: Answer, stats: Stats) -> None:
        """Relay what is Kafka's."""
        settings, security = self._settings, self._security
        listener = settings.listener
        setup = Setup(
            listener,
            settings.gateway_ports,
            settings.advertised_host or listener.host,
            listener_tls(settings),
            security.tls,
            security.sasl is not None,
        )
        core = GatewayServices(answer, router.refuse, self._state, self._hooks.submit)
        try:
            self._gateway = Gateway(core, setup, limits(settings), stats, settings.data_dir)
        except PortAssignmentError as error:
            raise CommandError(str(error)) from error

    async def prepare(self, event: AnyEvent) -> None:
        """Orders go by the replicas that the upstream has now, not by those of the last look."""
        if isinstance(event, AlterReassignments | Queue):
            await self.backend.look_at(topic for topic, _ in event.topics or ())
        elif isinstance(event, RollBackJob):
            await self.backend.look_at(key.topic for key in self._state.finished.get(event.job, ()))

    async def start(self, waits: Callable[[str], None]) -> None:
        """Until the upstream has been looked at, and every broker of it has its port."""
        try:
            await import_leases(self._settings.data_dir, self._hooks.submit)
            await self.backend.start(waits)
        except (AuthenticationError, StoreError) as error:
            raise CommandError(str(error)) from error

    async def stop(self) -> None:
        """Clients first."""
        await self._gateway.close(GRACE_SECONDS)
        await self.backend.stop()

    async def _brokers_seen(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Raises CommandError when they are another cluster's, whose partitions may have the same names, or a gateway's."""
        if self._client.cluster_id not in {"", self._claimed}:
            await _refuse_gateway(self._client)
            claim(self._settings.data_dir, "upstream.cluster.id", self._client.cluster_id)
            self._claimed = self._client.cluster_id
        try:
            await self._gateway.update({broker: Address(*at) for broker, at in brokers.items()})
        except OSError as error:
            raise refused(error, self._settings.listener, "listener") from error


async def _refuse_gateway(client: UpstreamClient) -> None:
    """Raises CommandError where the upstream is a gateway too: no Kafka shows a default that nobody set on the brokers' default."""
    asked = DescribeConfigsResource(ResourceType.BROKER, CLUSTER_DEFAULT, None)
    response = await client.ask(DescribeConfigsRequest([asked]))
    sources = {config.config_source for row in response.results for config in row.configs}
    if ConfigSource.DEFAULT in sources:
        raise CommandError(
            "bootstrap server: that is a gateway of reassignd; give Kafka's own brokers as --bootstrap-server"
        )
