"""Gateway mode: a running Kafka as the upstream, and the relay in front of it."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from backends.client.errors import AuthenticationError
from backends.client.handshake import Caller
from backends.client.security import PLAINTEXT, Security
from backends.sqlite.datadir import StoreError
from backends.upstream.own_records import OwnRecords, import_leases
from common.address import Address
from controller.cluster.brokers import holders
from controller.ports import Store
from controller.state.state import State
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
from reassignd.runtime.storage.kept_files import keep_files
from reassignd.runtime.upstream_adapter import UpstreamAdapter, refuse_gateway
from server.counters import Counters, RelayCounters
from server.dispatch.router import Router
from server.gateway.gateway import Gateway, GatewaySettings
from server.gateway.port_assignments import PortAssignmentError, PortAssignments

log = logging.getLogger(__name__)


class GatewayAdapter(UpstreamAdapter):
    """Implements `reassignd.runtime.data_dir.ListeningAdapter`."""

    _gateway: Gateway

    def __init__(self, settings: Settings, state: State, hooks: Hooks) -> None:
        self._claimed = ""
        """The id of the cluster that the data directory was claimed for in this process."""
        self._kept: dict[int, int] = {}
        """The ports that are in the database too."""
        self._security = upstream_security(settings)
        caller = Caller(software_version=__version__, security=self._security)
        super().__init__(settings, state, hooks, caller, on_brokers=self._brokers_seen)

    @property
    def addresses(self) -> list[Address]:
        """The bootstrap port first, then the ports by broker id."""
        return gateway_addresses(self._gateway)

    @property
    def relayed(self) -> RelayCounters:
        """See `ClusterAdapter.relayed`."""
        return self._gateway.counts

    def serve(self, router: Router, stats: Counters) -> None:
        """See `ClusterAdapter.serve`."""
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
        """See `ClusterAdapter.stop`."""
        await self._gateway.close(GRACE_SECONDS)
        await self.backend.stop()

    async def _brokers_seen(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Open a port for each broker.

        Raises CommandError for the brokers of a gateway, and for those of another cluster than that of the records:
        its partitions may have the same names.
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

    def _new_adapter(self, state: State, hooks: Hooks) -> GatewayAdapter:
        return GatewayAdapter(self._settings, state, hooks)

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
