"""The listeners of the controller of a ZooKeeper-mode cluster, and their ways on to the brokers' listeners of the same names."""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from functools import partial

from backends.zookeeper.term.live_brokers import listener_addresses
from backends.zookeeper.znodes.formats import Endpoint, Registration
from common.address import Address
from common.tls import client_context_from_files
from reassignd.config import command_config
from reassignd.config.config import WILDCARDS, Settings
from reassignd.config.parts import limits
from reassignd.config.setting_types import Listener
from reassignd.errors import CommandError
from reassignd.runtime.listener_security import listener_tls
from reassignd.runtime.sockets import refused
from server.connections.listener import Listeners
from server.connections.registry import ConnectionRegistry
from server.ports import Stats
from server.relay import session
from server.relay.counters import RelayCounters
from server.relay.exchange import Interceptors
from server.relay.upstream_brokers import ANY, UpstreamBrokers

log = logging.getLogger(__name__)

Tls = ssl.SSLContext | None


class ControllerListeners:
    """All listeners. Raises CommandError where the settings do not fit each other."""

    def __init__(self, settings: Settings, rules: Interceptors, stats: Stats) -> None:
        self.counts = RelayCounters()
        tls = listener_tls(settings)
        to_brokers = None if tls is None else _tls_to_brokers(settings)
        wanted = _wanted(settings, tls)
        crowd = ConnectionRegistry(limits(settings), stats)
        self._doors = [
            ControllerListener(each, settings, rules, crowd, self.counts, tls, to_brokers) for each in wanted
        ]

    async def open(self) -> Registration:
        """Listen; what is to be registered. Raises CommandError."""
        return Registration(tuple([await door.open() for door in self._doors]))

    def brokers_changed(self, brokers: Mapping[int, Registration]) -> None:
        """These are registered now; connections to others end."""
        for door in self._doors:
            door.brokers_changed(brokers)

    async def close(self, grace: float) -> None:
        """Finish our own answers under way within `grace` seconds, and end all connections."""
        await asyncio.gather(*(door.close(grace) for door in self._doors))


class ControllerListener:
    """One listener."""

    def __init__(
        self,
        wanted: Listener,
        settings: Settings,
        rules: Interceptors,
        crowd: ConnectionRegistry,
        counts: RelayCounters,
        tls: Tls,
        to_brokers: Tls,
    ) -> None:
        self._wanted = wanted
        self._host = settings.advertised_host or wanted.address.host
        encrypted = wanted.protocol.endswith("SSL")
        self._upstreams = UpstreamBrokers(to_brokers if encrypted else None)
        authenticates = wanted.protocol.startswith("SASL_")
        bounds = limits(settings)
        shared = session.RelayServices(self._upstreams, rules, bounds, counts, authenticates)
        self._listeners: Listeners[session.RelayedBroker] = Listeners(
            partial(session.Relay, shared), crowd, tls if encrypted else None
        )
        self._without: set[int] = set()
        """Brokers that connections cannot be handed on to, which has been logged."""

    async def open(self) -> Endpoint:
        """See `ControllerListeners.open`."""
        name, protocol, address = self._wanted
        try:
            _, port = await self._listeners.open(session.RelayedBroker(ANY), address.host, address.port)
        except OSError as error:
            raise refused(error, address, "listener") from error
        return Endpoint(name, protocol, self._host, port)

    def brokers_changed(self, brokers: Mapping[int, Registration]) -> None:
        """See `ControllerListeners.brokers_changed`."""
        name, protocol, _ = self._wanted
        found = listener_addresses(brokers, name, protocol)
        self._upstreams.update({broker: Address(*at) for broker, at in found.items()})
        without = brokers.keys() - found.keys()
        for broker in sorted(without - self._without):
            log.warning(
                "broker %d has no listener for %s: connections to our listener %s are not handed on to it; give that the name"
                " and the security protocol that it has at the brokers",
                broker,
                protocol,
                name,
            )
        self._without = set(without)

    async def close(self, grace: float) -> None:
        """See `ControllerListeners.close`."""
        await self._listeners.close_all(grace)


def _wanted(settings: Settings, tls: Tls) -> Sequence[Listener]:
    protocol = settings.zookeeper_listener_security_protocol or ("PLAINTEXT" if tls is None else "SSL")
    first = Listener(settings.zookeeper_listener_name, protocol, settings.listener)
    listeners = [first, *settings.zookeeper_listeners]
    names = [each.name for each in listeners]
    for each in listeners:
        if names.count(each.name) > 1:
            raise CommandError(f"zookeeper.listeners: there are two listeners {each.name}")
        if tls is None and each.protocol.endswith("SSL"):
            raise CommandError(
                f"listener {each.name} is {each.protocol}, which needs listener.tls.certificate.file"
            )
        if each.address.host in WILDCARDS and not settings.advertised_host:
            raise CommandError(
                f"listener {each.name}: clients cannot connect to {each.address.host}; set advertised.host"
            )
    if tls is not None and not any(each.protocol.endswith("SSL") for each in listeners):
        raise CommandError(
            "listener.tls.certificate.file is set, but no listener is SSL or SASL_SSL; see zookeeper.listener.security.protocol"
        )
    return listeners


def _tls_to_brokers(settings: Settings) -> ssl.SSLContext:
    path = settings.zookeeper_command_config
    return client_context_from_files() if path is None else command_config.relay_tls(path)
