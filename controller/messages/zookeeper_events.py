"""Changes that others made in ZooKeeper. They are in the state's store already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.messages.event import Event
from controller.model.cluster import Partition, ResourceType, TopicPartition
from controller.model.errors import Outcome


@dataclass(frozen=True, slots=True)
class PartitionsStored(Event[None]):
    """Leaders stored new ISRs; `partitions` are the stored values."""

    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class TopicStored(Event[None]):
    """Someone stored a topic or added partitions to one.

    `partitions` are in order of index and have no leader yet.
    """

    topic: str
    id: bytes
    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class ConfigsStored(Event[None]):
    """Someone stored configs of the resource; `values` are all of them."""

    resource: ResourceType
    name: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReplicasDeleted(Event[None]):
    """The broker has deleted its replicas of these partitions, whose topics are being deleted."""

    broker: int
    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class Halt(Event[Outcome]):
    """Stop or resume starting steps (KIP-236: while the cancel znode exists). Steps in flight continue."""

    halted: bool
