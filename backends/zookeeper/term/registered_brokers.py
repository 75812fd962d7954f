"""The registered brokers: their changes, their place in UpdateMetadata, and brokers for new replicas.

The listeners relay requests to them in every state, as controller and as standby. The controller is also a
client of theirs, for example for DescribeLogDirs.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from backends.client.connection import Link
from backends.client.errors import UnreachableError
from backends.client.handshake import ClientSettings, open_connection
from backends.zookeeper.session.tree import Tree, ZookeeperError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, numbered
from backends.zookeeper.znodes.formats import Endpoint, Registration, decode_broker
from common.address import Address
from common.backoff import RETRY_SECONDS
from common.clock import Clock, RealClock
from common.wording import counted
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Partition
from controller.state.state import State
from protocol.codec.schema import Request, Response
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataEndpoint

PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Kafka: SecurityProtocol."""


class RegisteredBroker(NamedTuple):
    """A broker in `/brokers/ids`. The czxid of its znode is the broker epoch."""

    id: int
    epoch: int
    registration: Registration


class BrokerChanges(NamedTuple):
    """The differences between two lists of registered brokers.

    A broker that has restarted counts as started.
    """

    stopped: list[int]
    started: list[RegisteredBroker]
    changed: list[RegisteredBroker]


class BrokerDirectory:
    """The registered brokers, and the listener at which the controller connects to them.

    `listener` is the listener's name; "" for the first listener with the security protocol `protocol`.
    """

    def __init__(self, listener: str = "", protocol: str = "PLAINTEXT") -> None:
        self._listener, self._protocol = listener, protocol
        self._brokers: dict[int, RegisteredBroker] = {}

    def update(self, registered: Sequence[RegisteredBroker]) -> BrokerChanges:
        """Replace the list of brokers; return what has changed."""
        before, self._brokers = self._brokers, {each.id: each for each in registered}
        changes = BrokerChanges([number for number in before if number not in self._brokers], [], [])
        for broker in registered:
            known = before.get(broker.id)
            if known is None or known.epoch != broker.epoch:
                changes.started.append(broker)
            elif known != broker:
                changes.changed.append(broker)
        return changes

    def broker_registration(self, broker: RegisteredBroker) -> BrokerRegistration:
        """Return the registration for the controller's events.

        Raises ZnodeError when it has no listener for the controller.
        """
        endpoint = self.endpoint(broker.registration)
        return BrokerRegistration(
            broker.id, endpoint.host, endpoint.port, broker.registration.rack, broker.epoch
        )

    def all(self) -> list[RegisteredBroker]:
        """Return the registered brokers."""
        return list(self._brokers.values())

    def metadata_brokers(self) -> Iterator[UpdateMetadataBroker]:
        """Yield the brokers for UpdateMetadata, with all listeners: clients connect to any of them."""
        return (metadata_broker(each.id, each.registration) for each in self._brokers.values())

    def replace_controller(self, partition: Partition, own_id: int) -> Partition:
        """Return a new partition with a broker instead of the controller among the replicas.

        Brokers and tools see the controller in the list of brokers, and place replicas on it. The replacement
        is in a rack without a replica of the partition, if there is one. Raises ZnodeError when there are not
        enough brokers.
        """
        replicas = partition.replicas
        if own_id not in replicas:
            return partition
        used_racks = {self._rack(each) for each in replicas}
        others = sorted(self._brokers.keys() - set(replicas))
        others = [each for each in others if self._rack(each) not in used_racks] or others
        if not others:
            raise ZnodeError(
                f"partition {partition.partition} has {counted(len(replicas), 'replica')},"
                f" but there are {counted(len(self._brokers), 'broker')}"
                f" ({own_id} is reassignd, which holds no replicas)"
            )
        # The partition number spreads the replacements over the brokers.
        replacement = others[partition.partition % len(others)]
        placed = tuple(replacement if each == own_id else each for each in replicas)
        return partition._replace(replicas=placed, isr=placed)

    def _rack(self, broker: int) -> str | None:
        known = self._brokers.get(broker)
        return None if known is None else known.registration.rack

    @property
    def controller_rack(self) -> str | None:
        """A rack to register the controller with: the first broker's.

        Kafka places no replicas by rack while a broker has none, and it takes the controller for a broker.
        """
        racks = (self._brokers[number].registration.rack for number in sorted(self._brokers))
        return next((rack for rack in racks if rack is not None), None)

    def endpoint(self, registration: Registration) -> Endpoint:
        """Return the listener at which the controller connects.

        Raises ZnodeError when the broker does not have it.
        """
        for each in registration.endpoints:
            if self._listener == each.listener or (not self._listener and each.protocol == self._protocol):
                return each
        wanted = f"named {self._listener}" if self._listener else f"for {self._protocol}"
        raise ZnodeError(f"it has no listener {wanted}; set zookeeper.broker.listener.name")


def metadata_broker(broker: int, registration: Registration) -> UpdateMetadataBroker:
    """Return a broker for UpdateMetadata."""
    endpoints = [
        UpdateMetadataEndpoint(each.port, each.host, each.listener, PROTOCOL_IDS.get(each.protocol, 0))
        for each in registration.endpoints
    ]
    return UpdateMetadataBroker(id=broker, endpoints=endpoints, rack=registration.rack)


log = logging.getLogger(__name__)


class LiveBrokers:
    """Watches the registrations of brokers, and passes all of them to `on_change` by id, without our own."""

    def __init__(
        self,
        tree: Tree,
        own_id: int,
        on_change: Callable[[Mapping[int, Registration]], None],
        clock: Clock | None = None,
    ) -> None:
        self._tree, self._own_id, self._on_change = tree, own_id, on_change
        self._clock = clock or RealClock()

    async def follow(self) -> None:
        """Read the registrations at each change, until cancelled. Retries while ZooKeeper cannot be read."""
        changed = asyncio.Event()
        while True:
            changed.clear()
            try:
                await self._read(changed)
            except ZookeeperError as error:
                log.debug("cannot read the registered brokers: %s", error)
                await self._clock.sleep(RETRY_SECONDS)
                continue
            await changed.wait()

    async def _read(self, changed: asyncio.Event) -> None:
        registrations = {}
        for name in await self._tree.children(paths.BROKERS, changed.set) or []:
            znode = await self._tree.get(f"{paths.BROKERS}/{name}", changed.set)
            number = numbered(name)
            if znode is None or number is None or number == self._own_id:
                continue
            try:
                registrations[number] = decode_broker(znode.data)
            except ZnodeError as error:
                log.debug("the registration of broker %s is ignored: %s", name, error)
        self._on_change(registrations)


def listener_addresses(
    brokers: Mapping[int, Registration], listener: str, protocol: str
) -> dict[int, Address]:
    """Return the address by broker, of the listener with this name and this security protocol.

    A listener with the same name and another protocol is left out: a client's connection must not change its
    protocol.
    """
    return {
        broker: Address(each.host, each.port)
        for broker, registration in brokers.items()
        for each in registration.endpoints
        if (each.listener, each.protocol) == (listener, protocol)
    }


CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 30.0


class _Connection(NamedTuple):
    address: Address
    link: Link


class TermBrokerClient:
    """Implements `BrokerClient`: one connection for each broker, at the address that the controller has."""

    def __init__(self, state: State, client_settings: ClientSettings, clock: Clock) -> None:
        self.state, self._client_settings, self._clock = state, client_settings, clock
        self._connections: dict[int, _Connection] = {}

    async def ask(self, request: Request[Response], broker: int | None = None) -> Response:
        """See `BrokerClient.ask`; without a broker, the live one with the lowest id is asked."""
        number = min(self.state.cluster.live, default=-1) if broker is None else broker
        known = self.state.cluster.brokers.get(number)
        if known is None:
            raise UnreachableError(f"broker {number} is not registered")
        address = Address(known.host, known.port)
        connection = self._connections.get(number)
        if connection is None or connection.address != address:
            if connection is not None:
                await connection.link.close()
            connect = partial(open_connection, address, self._client_settings, CONNECT_SECONDS)
            connection = self._connections[number] = _Connection(address, Link(connect, self._clock))
        return await connection.link.ask(request, REQUEST_SECONDS)

    async def close(self) -> None:
        """Close all connections; later requests open new ones."""
        for connection in self._connections.values():
            await connection.link.close()
        self._connections.clear()


class TermCanaryClient(TermBrokerClient):
    """Implements `CanaryClient`."""

    async def refresh(self) -> None:
        """Do nothing: the state has the addresses."""
