"""The listeners of ZooKeeper mode.

Each relays to the brokers' listeners of the same name and security protocol.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from functools import partial

from backends.zookeeper.term.registered_brokers import listener_addresses
from backends.zookeeper.znodes.formats import Endpoint, Registration
from common.address import Address
from common.tls import client_context_from_files
from reassignd.config import command_config
from reassignd.config.errors import SettingError
from reassignd.config.setting_types import WILDCARDS, Listener
from reassignd.config.settings import Settings
from reassignd.runtime.listeners.sockets import limits, refused
from reassignd.runtime.listeners.tls import listener_tls
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.counters import Counters, RelayCounters
from server.relay import session
from server.relay.brokers import ANY, UpstreamBrokers
from server.relay.exchange import Interceptors

log = logging.getLogger(__name__)

Tls = ssl.SSLContext | None


class ControllerListeners:
    """All configured listeners. Raises SettingError for settings that contradict each other."""

    def __init__(self, settings: Settings, interceptors: Interceptors, stats: Counters) -> None:
        self.counts = RelayCounters()
        tls = listener_tls(settings)
        broker_tls = None if tls is None else _tls_to_brokers(settings)
        registry = ConnectionRegistry(limits(settings), stats)
        self._listeners = [
            ControllerListener(listener, settings, interceptors, registry, self.counts, tls, broker_tls)
            for listener in configured_listeners(settings, tls)
        ]

    async def open(self) -> Registration:
        """Open the ports; return the registration that names them. Raises SettingError."""
        return Registration(tuple([await listener.open() for listener in self._listeners]))

    def brokers_changed(self, brokers: Mapping[int, Registration]) -> None:
        """Relay to these brokers from now on, and end connections to others."""
        for listener in self._listeners:
            listener.brokers_changed(brokers)

    async def close(self, grace: float) -> None:
        """Finish the requests that reassignd answers, for up to `grace` seconds, and end all connections."""
        await asyncio.gather(*(listener.close(grace) for listener in self._listeners))


class ControllerListener:
    """One listener. `tls` is the context for clients, `broker_tls` the one for connections to brokers."""

    def __init__(
        self,
        configured: Listener,
        settings: Settings,
        interceptors: Interceptors,
        registry: ConnectionRegistry,
        counts: RelayCounters,
        tls: Tls,
        broker_tls: Tls,
    ) -> None:
        self._configured = configured
        self._host = settings.advertised_host or configured.address.host
        encrypted = configured.protocol.endswith("SSL")
        self._upstreams = UpstreamBrokers(broker_tls if encrypted else None)
        authenticates = configured.protocol.startswith("SASL_")
        bounds = limits(settings)
        shared = session.RelayServices(self._upstreams, interceptors, bounds, counts, authenticates)
        self._listeners: Listeners[session.RelayedBroker] = Listeners(
            partial(session.Relay, shared), registry, tls if encrypted else None
        )
        self._unreachable: set[int] = set()
        """Brokers without a matching listener; each was logged once."""

    async def open(self) -> Endpoint:
        """See `ControllerListeners.open`."""
        name, protocol, address = self._configured
        try:
            _, port = await self._listeners.open(session.RelayedBroker(ANY), address.host, address.port)
        except OSError as error:
            raise refused(error, address, "listener") from error
        return Endpoint(name, protocol, self._host, port)

    def brokers_changed(self, brokers: Mapping[int, Registration]) -> None:
        """See `ControllerListeners.brokers_changed`."""
        name, protocol, _ = self._configured
        addresses = listener_addresses(brokers, name, protocol)
        self._upstreams.update({broker: Address(*address) for broker, address in addresses.items()})
        unreachable = brokers.keys() - addresses.keys()
        for broker in sorted(unreachable - self._unreachable):
            log.warning(
                "broker %d has no listener for %s: connections to our listener %s are not relayed to it;"
                " give that the name and the security protocol that it has at the brokers",
                broker,
                protocol,
                name,
            )
        self._unreachable = set(unreachable)

    async def close(self, grace: float) -> None:
        """See `ControllerListeners.close`."""
        await self._listeners.close_all(grace)


def configured_listeners(settings: Settings, tls: Tls) -> Sequence[Listener]:
    """Return the configured listeners, the one for brokers first. Raises SettingError."""
    protocol = settings.zookeeper_listener_security_protocol or ("PLAINTEXT" if tls is None else "SSL")
    first = Listener(settings.zookeeper_listener_name, protocol, settings.listener)
    listeners = [first, *settings.zookeeper_listeners]
    names = [listener.name for listener in listeners]
    for name, protocol, address in listeners:
        if names.count(name) > 1:
            raise SettingError(f"zookeeper.listeners: there are two listeners {name}")
        if tls is None and protocol.endswith("SSL"):
            raise SettingError(f"listener {name} is {protocol}, which needs listener.tls.certificate.file")
        if address.host in WILDCARDS and not settings.advertised_host:
            raise SettingError(
                f"listener {name}: clients cannot connect to {address.host}; set advertised.host"
            )
    if tls is not None and not any(listener.protocol.endswith("SSL") for listener in listeners):
        raise SettingError(
            "listener.tls.certificate.file is set, but no listener is SSL or SASL_SSL; see"
            " zookeeper.listener.security.protocol"
        )
    return listeners


def _tls_to_brokers(settings: Settings) -> ssl.SSLContext:
    path = settings.zookeeper_command_config
    return client_context_from_files() if path is None else command_config.relay_tls(path)
