"""What others have stored in a ZooKeeper-mode cluster already. They belong to `controller.messages.events.Event`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.model.cluster import Partition, ResourceType


class PartitionsStored(NamedTuple):
    """Leaders have stored new ISRs by themselves; the partitions as they are stored now."""

    partitions: Sequence[Partition]


class TopicStored(NamedTuple):
    """Someone else has stored a topic, or more partitions of one: those without a leader yet, in order of index."""

    topic: str
    id: bytes
    partitions: Sequence[Partition]


class ConfigsStored(NamedTuple):
    """Someone else has stored the resource's values; these are all of them."""

    resource: ResourceType
    name: str
    values: Mapping[str, str]


class Halt(NamedTuple):
    """Start nothing, or go on; steps in flight go on (KIP-236: while the cancel znode exists). Reply: `Outcome`."""

    halted: bool
