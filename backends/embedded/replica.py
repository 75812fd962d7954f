"""A replica on an embedded broker, and the port to its broker."""

from dataclasses import dataclass
from typing import Protocol

from backends.embedded.replication import Log
from common.address import Address
from controller.model.cluster import Replicas, TopicPartition


@dataclass(slots=True)
class Replica:
    """The state from the last LeaderAndIsr request, and the data."""

    log: Log
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    replicas: Replicas
    adding: Replicas


class Leader(Protocol):
    """A broker, as its requests to the controller need it."""

    id: int
    epoch: int
    replicas: dict[TopicPartition, Replica]

    @property
    def controller(self) -> Address:
        """The controller's address. Raises ConnectionError while it is not known."""
        ...

    def accept(self, key: TopicPartition, leader_epoch: int, partition_epoch: int, isr: Replicas) -> None:
        """Store the controller's ISR, unless its epochs are older than the known ones."""
        ...
