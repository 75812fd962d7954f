"""The registered brokers: their changes, their place in UpdateMetadata, and brokers for new replicas."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Endpoint, Registration
from common.counted import counted
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Partition
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataEndpoint

PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Kafka: SecurityProtocol."""


class RegisteredBroker(NamedTuple):
    """A broker in `/brokers/ids`. The czxid of its znode is the broker epoch."""

    id: int
    epoch: int
    registration: Registration


class BrokerChanges(NamedTuple):
    """The differences between two lists of registered brokers. A broker that has restarted counts as started."""

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
        """Return the registration for the controller's events. Raises ZnodeError when it has no listener for the controller."""
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
        """Return a new partition with a broker in place of the controller among the replicas.

        Brokers and tools see the controller in the list of brokers, and place replicas on it. The replacement is in a
        rack without a replica of the partition, if there is one. Raises ZnodeError when there are not enough brokers.
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
        """Return the listener at which the controller connects. Raises ZnodeError when the broker does not have it."""
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
