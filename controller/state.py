"""The controller's memory: all records, and what is derived from them.

One owner (the driver) mutates it, through `put` and `delete` only; readers between two decisions see a
consistent whole. Loading the store is `put` of every record, so memory after a restart is what it was before.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from controller.model import (
    NO_LEADER,
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Partition,
    Reassignment,
    Record,
    ResourceType,
    Topic,
    TopicPartition,
)

CLUSTER_DEFAULT = ""


class State:
    """Records by key, and counters over them."""

    def __init__(self) -> None:
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self.live: set[int] = set()
        """Brokers that answer; those in controlled shutdown included."""
        self.shutting_down: set[int] = set()
        self.topics: dict[str, Topic] = {}
        self.topic_names: dict[bytes, str] = {}
        self.partitions: dict[str, list[Partition]] = {}
        """By topic, at the partition's index: indexes of a topic are 0..n-1 without gaps."""
        self.reassignments: dict[TopicPartition, Reassignment] = {}
        """In order of acceptance."""
        self.moving: dict[str, int] = {}
        """How many partitions of a topic have a reassignment; absent when none."""
        self.configs: dict[tuple[ResourceType, str], dict[str, str]] = {}
        self.offline: set[TopicPartition] = set()
        self.under_replicated: set[TopicPartition] = set()
        self.queued: deque[TopicPartition] = deque()
        """Whose turn comes next; entries may be stale, the phase tells."""
        self.waiting: dict[TopicPartition, str] = {}
        """Reassignments whose next step cannot start now, and why, in words for people."""
        self.doomed: deque[str] = deque()
        """Topics whose deletion was held back and can go on."""
        self.woken = False
        """A `Continue` event is on its way."""
        self.reassigning_revision = 0
        """Grows when what ListPartitionReassignments shows may have changed; a key for caches."""
        self.metadata_revision = 0
        """Grows when what Metadata shows may have changed; a key for caches."""
        self._put: dict[type, Callable[[Any], None]] = {
            ControllerEpoch: self._put_epoch,
            Broker: self._put_broker,
            Topic: self._put_topic,
            Partition: self._put_partition,
            Reassignment: self._put_reassignment,
            Config: self._put_config,
        }
        self._delete: dict[type, Callable[[Any], None]] = {
            Broker: self._delete_broker,
            Topic: self._delete_topic,
            Partition: self._delete_partition,
            Reassignment: self._delete_reassignment,
            Config: self._delete_config,
        }

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in records that are durable already, as at start."""
        for change in changes:
            if isinstance(change, Deleted):
                self.delete(change)
            else:
                self.put(change)

    def put(self, record: Record) -> None:
        """Insert or replace the record under its key."""
        self._put[type(record)](record)

    def delete(self, deleted: Deleted) -> None:
        """Remove the record; it must exist."""
        self._delete[deleted.kind](deleted.key)

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, or None when the topic or the index is unknown."""
        partitions = self.partitions.get(topic)
        if partitions is None or not 0 <= index < len(partitions):
            return None
        return partitions[index]

    def all_partitions(self) -> Iterator[Partition]:
        """Every partition, topic by topic."""
        for partitions in self.partitions.values():
            yield from partitions

    def config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """The value set on this resource itself, without defaults."""
        values = self.configs.get((resource, name))
        return None if values is None else values.get(key)

    def topic_config(self, topic: str, key: str) -> str | None:
        """The value that counts for a topic: its own, else the cluster-wide default, else None."""
        value = self.config(ResourceType.TOPIC, topic, key)
        if value is None:
            value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, key)
        return value

    def min_isr(self, topic: str) -> int:
        """`min.insync.replicas` of the topic."""
        return int(self.topic_config(topic, "min.insync.replicas") or 1)

    def unclean_allowed(self, topic: str) -> bool:
        """`unclean.leader.election.enable` of the topic."""
        return self.topic_config(topic, "unclean.leader.election.enable") == "true"

    def _put_epoch(self, record: ControllerEpoch) -> None:
        self.controller_epoch = record.epoch

    def _put_broker(self, record: Broker) -> None:
        self.brokers[record.id] = record
        self.metadata_revision += 1

    def _put_topic(self, record: Topic) -> None:
        self.topics[record.name] = record
        self.topic_names[record.id] = record.name
        self.partitions.setdefault(record.name, [])
        self.metadata_revision += 1

    def _put_partition(self, record: Partition) -> None:
        partitions = self.partitions[record.topic]
        if record.partition == len(partitions):
            partitions.append(record)
        else:
            partitions[record.partition] = record
        self.metadata_revision += 1
        self.reassigning_revision += 1
        _toggle(self.offline, record, record.leader == NO_LEADER)
        _toggle(self.under_replicated, record, record.isr != record.replicas and record.under_replicated)

    def _put_reassignment(self, record: Reassignment) -> None:
        key = record.key
        if key not in self.reassignments:
            self.moving[record.topic] = self.moving.get(record.topic, 0) + 1
        self.reassignments[key] = record
        self.waiting.pop(key, None)
        self.reassigning_revision += 1

    def _put_config(self, record: Config) -> None:
        self.configs.setdefault((record.resource, record.name), {})[record.config] = record.value

    def _delete_broker(self, key: int) -> None:
        del self.brokers[key]
        self.metadata_revision += 1

    def _delete_topic(self, key: str) -> None:
        topic = self.topics.pop(key)
        del self.topic_names[topic.id]
        self.partitions.pop(key, None)
        self.metadata_revision += 1

    def _delete_partition(self, key: TopicPartition) -> None:
        """Partitions go with their topic, the highest index first."""
        self.partitions[key.topic].pop()
        self.offline.discard(key)
        self.under_replicated.discard(key)
        self.metadata_revision += 1

    def _delete_reassignment(self, key: TopicPartition) -> None:
        del self.reassignments[key]
        self.waiting.pop(key, None)
        left = self.moving[key.topic] - 1
        if left:
            self.moving[key.topic] = left
        else:
            del self.moving[key.topic]
        self.reassigning_revision += 1

    def _delete_config(self, key: tuple[ResourceType, str, str]) -> None:
        resource, name, config = key
        values = self.configs[resource, name]
        del values[config]
        if not values:
            del self.configs[resource, name]


def _toggle(members: set[TopicPartition], partition: Partition, belongs: bool) -> None:
    if belongs:
        members.add(partition.key)
    elif members:
        members.discard(partition.key)
