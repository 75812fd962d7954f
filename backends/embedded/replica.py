"""What a broker knows of one replica that it hosts."""

from dataclasses import dataclass
from typing import Protocol

from backends.embedded.replication import Log
from common.address import Address
from controller.model.cluster import Replicas, TopicPartition


@dataclass(slots=True)
class Replica:
    """The last LeaderAndIsr of the partition, and the data."""

    log: Log
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    replicas: Replicas
    adding: Replicas


class Leader(Protocol):
    """A broker as those see it who speak to the controller for it."""

    id: int
    epoch: int
    replicas: dict[TopicPartition, Replica]

    @property
    def controller(self) -> Address:
        """Errors: ConnectionError while the controller is not known."""
        ...

    def accept(self, key: TopicPartition, leader_epoch: int, partition_epoch: int, isr: Replicas) -> None:
        """Take the controller's word for the ISR unless it is older than what is known."""
        ...
