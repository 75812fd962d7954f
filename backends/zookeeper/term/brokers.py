"""The brokers as they are registered, and how the others are told of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Endpoint, Registration
from controller.messages.events import BrokerRegistration
from controller.model.cluster import Partition
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataEndpoint

PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Kafka: SecurityProtocol."""


class Registered(NamedTuple):
    """A registration; its czxid is the broker's epoch."""

    id: int
    epoch: int
    registration: Registration


class BrokerDirectory:
    """Who is registered. `listener` names the listener at which we reach brokers; "" for the first with that protocol."""

    def __init__(self, listener: str = "", protocol: str = "PLAINTEXT") -> None:
        self._listener, self._protocol = listener, protocol
        self._known: dict[int, Registered] = {}

    def changes(self, now: Sequence[Registered]) -> tuple[list[int], list[Registered], list[Registered]]:
        """Take what is registered now; who is gone, who is new (again), and who says something new."""
        before, self._known = self._known, {each.id: each for each in now}
        gone = [number for number in before if number not in self._known]
        new, changed = [], []
        for each in now:
            known = before.get(each.id)
            if known is None or known.epoch != each.epoch:
                new.append(each)
            elif known != each:
                changed.append(each)
        return gone, new, changed

    def reached(self, broker: Registered) -> BrokerRegistration:
        """As the core knows it: at the listener where we reach it. Raises ZnodeError when it has none."""
        endpoint = self.endpoint(broker.registration)
        return BrokerRegistration(
            broker.id, endpoint.host, endpoint.port, broker.registration.rack, broker.epoch
        )

    def all(self) -> list[Registered]:
        """Those that are registered."""
        return list(self._known.values())

    def told(self) -> Iterator[UpdateMetadataBroker]:
        """As brokers tell their clients: all listeners."""
        return (advertised_brokers(each.id, each.registration) for each in self._known.values())

    def place(self, partition: Partition, own_id: int) -> Partition:
        """A new partition without a replica on the controller. Raises ZnodeError when there is no broker for it instead.

        Brokers take the controller for one of them when they place topics, and so do tools where it is registered. The
        broker that takes its place is in a rack where the partition has no replica yet, if there is such a broker.
        """
        replicas = partition.replicas
        if own_id not in replicas:
            return partition
        used = {self._rack(each) for each in replicas}
        others = sorted(self._known.keys() - set(replicas))
        others = [each for each in others if self._rack(each) not in used] or others
        if not others:
            raise ZnodeError(
                f"partition {partition.partition} has {len(replicas)} replicas, and there are {len(self._known)} brokers"
                f" ({own_id} is reassignd, which holds no replicas)"
            )
        instead = others[partition.partition % len(others)]
        placed = tuple(instead if each == own_id else each for each in replicas)
        return partition._replace(replicas=placed, isr=placed)

    def _rack(self, broker: int) -> str | None:
        known = self._known.get(broker)
        return None if known is None else known.registration.rack

    @property
    def rack(self) -> str | None:
        """A rack for the controller: nothing is placed by racks while one broker has none, and to others we look like a broker."""
        racks = (self._known[number].registration.rack for number in sorted(self._known))
        return next((rack for rack in racks if rack is not None), None)

    def endpoint(self, registration: Registration) -> Endpoint:
        """Where we reach it. Raises ZnodeError when it has no such listener."""
        for each in registration.endpoints:
            if self._listener == each.listener or (not self._listener and each.protocol == self._protocol):
                return each
        wanted = f"named {self._listener}" if self._listener else f"for {self._protocol}"
        raise ZnodeError(f"it has no listener {wanted}; set zookeeper.broker.listener.name")


def advertised_brokers(broker: int, registration: Registration) -> UpdateMetadataBroker:
    """One broker for UpdateMetadata."""
    endpoints = [
        UpdateMetadataEndpoint(each.port, each.host, each.listener, PROTOCOLS.get(each.protocol, 0))
        for each in registration.endpoints
    ]
    return UpdateMetadataBroker(id=broker, endpoints=endpoints, rack=registration.rack)
