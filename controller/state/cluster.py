"""The cluster as the controller knows it: brokers, topics, partitions, sizes, and deletions that wait.

Records change it through `State.put` and `delete`; what is not durable changes by the other methods.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.cluster import NO_ID, NO_LEADER, Broker, Partition, Replicas, Topic, TopicPartition
from controller.model.errors import DONE, Outcome
from controller.model.replicas import MAX_REPLICAS, NOTHING_STORED, StoredReplica, StoredReplicas, without

KNOWN_LISTS = 65_536
"""Valid lists that are remembered: a plan has few distinct ones."""


class Disk(NamedTuple):
    """A log directory of a broker (KIP-827); sizes in bytes, -1 when the broker does not report them."""

    path: str
    total: int
    usable: int
    replicas: int
    """The number of its replicas; a broker puts a new replica into the directory with the fewest."""
    cordoned: bool = False
    """It gets no new replicas (KIP-1066)."""


def total_bytes(disks: Sequence[Disk]) -> int | None:
    """Return the size of a broker's disks, or None if one is not known.

    Brokers report them since Kafka 3.3 (KIP-827).
    """
    return sum(disk.total for disk in disks) if disks and all(disk.total > 0 for disk in disks) else None


@dataclass(eq=False, slots=True)
class ClusterState:
    """Brokers, topics and partitions, with indexes over them."""

    controller_id: int | None = None
    """Node id of a controller that is not a broker. Configs can be set on it; it has no replicas."""
    refused_topic: Callable[[str], bool] = lambda _name: False
    """Whether the backend stores data under this topic name that it could not accept as a topic."""
    fits_topic: Callable[[int, int], bool] = lambda _partitions, _replicas: True
    """Whether the backend can store a topic with this number of partitions and of replicas."""

    controller_epoch: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict)
    valid_lists: set[Replicas] = field(default_factory=set)
    """Replica lists that were found valid since the brokers changed."""
    live: set[int] = field(default_factory=set)
    """Brokers that are alive, including those in controlled shutdown."""
    shutting_down: set[int] = field(default_factory=set)
    unlisted_brokers: set[int] = field(default_factory=set)
    """Brokers that are not listed and that hold replicas of partitions that are not in sync. In ZooKeeper
    mode: that were not registered when the term began."""
    idle_brokers: set[int] = field(default_factory=set)
    """Brokers that were offline at the last complete poll, hold no replica and are to get none: nothing waits
    for them."""
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_names: dict[bytes, str] = field(default_factory=dict)
    partitions: dict[str, list[Partition]] = field(default_factory=dict)
    """By topic: the partitions 0..n-1, each at its index."""
    adding: int = 0
    """Number of replicas that steps in flight are adding (KIP-352's ReassignedCount)."""
    offline: set[TopicPartition] = field(default_factory=set)
    under_replicated: set[TopicPartition] = field(default_factory=set)
    deletable: deque[str] = field(default_factory=deque)
    """Topics whose deletion was postponed and may be possible now."""
    dropping: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    """Topics whose replicas are being deleted: partition and broker of those that are not deleted yet."""
    failed: dict[TopicPartition, Replicas] = field(default_factory=dict)
    """Brokers of replicas whose log directory has failed; `failed_replicas` leaves out what is over."""
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    """Size of the leader's replica in bytes, of partitions of which `stored` does not have it."""
    stored: dict[TopicPartition, StoredReplicas] = field(default_factory=dict)
    """What the brokers report of their own replicas, which differ in size."""
    measured: bool = False
    """Sizes have been measured since the start."""
    disks: dict[int, Sequence[Disk]] = field(default_factory=dict)
    """By broker."""

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, or None when the topic or the index is unknown."""
        partitions = self.partitions.get(topic, ())
        return partitions[index] if 0 <= index < len(partitions) else None

    def all_partitions(self) -> Iterator[Partition]:
        """Every partition, topic by topic."""
        return chain.from_iterable(self.partitions.values())

    # ---- brokers -------------------------------------------------------------------------------------------

    def set_epoch(self, epoch: int) -> None:
        """Set the number of controller starts on this data."""
        self.controller_epoch = epoch

    def put_broker(self, record: Broker) -> None:
        """Insert or replace the registration."""
        self.brokers[record.id] = record
        self.valid_lists.clear()

    def delete_broker(self, broker: int) -> None:
        """Remove the registration, which exists."""
        del self.brokers[broker]
        self.valid_lists.clear()

    def check_replicas(self, replicas: Replicas) -> Outcome:
        """Check that the list is not empty and names only registered brokers, none of them twice.

        They need not be alive (Kafka: ReplicationControlManager.validateManualPartitionAssignment). The
        message names the smallest wrong id, except of a list that is longer than `MAX_REPLICAS`.
        """
        if replicas in self.valid_lists:
            return DONE
        if len(replicas) > MAX_REPLICAS:
            return _invalid(f"{len(replicas)} replicas, but a partition can have at most {MAX_REPLICAS}.")
        members = set(replicas)
        if members and len(members) == len(replicas) and members <= self.brokers.keys():
            if len(self.valid_lists) < KNOWN_LISTS:
                self.valid_lists.add(replicas)
            return DONE
        if not replicas:
            return _invalid("an empty replica list.")
        previous = None
        for broker in sorted(replicas):
            if broker == self.controller_id:
                return _invalid(f"broker {broker}, which is reassignd, the controller: it holds no replicas.")
            if broker not in self.brokers:
                return _invalid(f"broker {broker}, but no such broker is registered.")
            if broker == previous:
                return _invalid(f"the broker {broker} more than once.")
            previous = broker
        return DONE

    def broker_started(self, broker: int) -> None:
        """The broker is alive, and has not told yet which directories work."""
        left = ((key, without(replicas, (broker,))) for key, replicas in self.failed.items())
        self.failed = {key: replicas for key, replicas in left if replicas}
        self.live.add(broker)
        self.shutting_down.discard(broker)
        self.unlisted_brokers.discard(broker)

    def broker_stopped(self, broker: int) -> None:
        """The broker is not alive any more."""
        self.live.discard(broker)
        self.shutting_down.discard(broker)

    def shut_down(self, broker: int) -> None:
        """The broker is about to stop: nothing new is placed on it."""
        self.shutting_down.add(broker)

    def set_live(self, alive: Collection[int]) -> None:
        """Exactly these brokers are alive."""
        self.live.clear()
        self.live.update(alive)
        self.unlisted_brokers.difference_update(alive)

    def set_unlisted(self, brokers: set[int]) -> None:
        """Replace the brokers that hold replicas, but are not listed."""
        self.unlisted_brokers = brokers

    def set_idle(self, brokers: set[int]) -> None:
        """Replace the offline brokers on which nothing depends."""
        self.idle_brokers = brokers

    def measure(
        self,
        sizes: Mapping[TopicPartition, int],
        disks: Mapping[int, Sequence[Disk]],
        stored: Mapping[TopicPartition, Sequence[StoredReplica]],
    ) -> None:
        """Update sizes and disks. A topic may have been deleted since it was measured."""
        self.sizes.update({key: size for key, size in sizes.items() if key[0] in self.topics})
        self.disks.update(disks)
        for key, found in stored.items():
            if (partition := self.partition(*key)) is not None:
                known = self.stored.get(key, NOTHING_STORED)
                self.stored[key] = known.updated(found, partition.replicas)
                if partition.leader in self.stored[key].brokers:
                    self.sizes.pop(key, None)
        self.measured = True

    def copied_size(self, key: TopicPartition) -> int | None:
        """Return the bytes of a copy of the partition, or None if nothing is known.

        They are those of the leader's replica; while that is not known, of the largest other one.
        """
        size = self.leader_size(key)
        return size if size is not None else max(self.stored.get(key, NOTHING_STORED).sizes, default=None)

    def leader_size(self, key: TopicPartition) -> int | None:
        """Return the bytes of the leader's replica, or None if it is not known."""
        stored, partition = self.stored.get(key), self.partition(*key)
        if stored is not None and partition is not None:
            own = stored.bytes_on(partition.leader)
            if own is not None:
                return own
        return self.sizes.get(key)

    def note_failed(self, key: TopicPartition, offline: Replicas) -> None:
        """Note which of the partition's offline replicas have a live broker: their directory has failed."""
        if failed := tuple(broker for broker in offline if broker in self.live):
            self.failed[key] = failed
        else:
            self.failed.pop(key, None)

    def directory_failed(self, broker: int, key: TopicPartition) -> None:
        """The log directory of the broker's replica of this partition has failed."""
        self.failed[key] = (*without(self.failed.get(key, ()), (broker,)), broker)

    def failed_replicas(self, partition: Partition) -> Replicas:
        """Return the replicas of live brokers whose log directory has failed."""
        failed = self.failed.get(partition.key, ())
        lost = self.live.intersection(failed).difference(partition.isr)
        return tuple(broker for broker in partition.replicas if broker in lost)

    # ---- topics and partitions -----------------------------------------------------------------------------

    def put_topic(self, record: Topic) -> None:
        """Insert or replace the topic."""
        self.topics[record.name] = record
        if record.id != NO_ID:
            self.topic_names[record.id] = record.name
        self.partitions.setdefault(record.name, [])

    def delete_topic(self, name: str) -> None:
        """Remove the topic, which exists and has no partitions any more."""
        topic = self.topics.pop(name)
        self.dropping.pop(name, None)
        self.topic_names.pop(topic.id, None)
        self.partitions.pop(name, None)

    def put_partition(self, record: Partition) -> Partition | None:
        """Insert or replace the partition. Return the one before, if any."""
        partitions, key, before = self.partitions[record.topic], record.key, None
        self.adding += len(record.adding)
        if record.partition == len(partitions):
            partitions.append(record)
        else:
            before = partitions[record.partition]
            self.adding -= len(before.adding)
            partitions[record.partition] = record
        if record.leader == NO_LEADER:
            self.offline.add(key)
        else:
            self.offline.discard(key)
        if record.isr != record.replicas and record.under_replicated:
            self.under_replicated.add(key)
        else:
            self.under_replicated.discard(key)
        return before

    def append_calm(self, records: Iterable[Partition]) -> Iterator[Partition]:
        """Add the new partitions that are in sync and do not move, which takes less time.

        Yield the others.
        """
        topic, partitions = "", list[Partition]()
        for record in records:
            name, number, replicas, isr, leader, _, _, adding, removing = record
            if name != topic:
                topic, partitions = name, self.partitions[name]
            is_calm = isr == replicas and leader != NO_LEADER and not adding and not removing
            if is_calm and number == len(partitions):
                partitions.append(record)
            else:
                yield record

    def end_steps(self, topic: str, records: Iterable[Partition]) -> Iterator[Partition]:
        """Replace partitions in sync whose steps have ended, which takes less time; yield the others."""
        partitions = self.partitions[topic]
        for record in records:
            _, number, replicas, isr, _, _, _, _, _ = record
            if self.offline or self.under_replicated or isr != replicas:
                yield record
            else:
                self.adding -= len(partitions[number].adding)
                partitions[number] = record

    def delete_partition(self, key: TopicPartition) -> None:
        """Remove the partition. They are deleted with their topic, the highest index first."""
        gone = self.partitions[key.topic].pop()
        self.adding -= len(gone.adding)
        self.offline.discard(key)
        self.under_replicated.discard(key)
        self.failed.pop(key, None)
        self.sizes.pop(key, None)
        self.stored.pop(key, None)

    # ---- deletions -----------------------------------------------------------------------------------------

    def may_delete(self, topics: Iterable[str]) -> None:
        """The postponed deletions of these topics may be possible now."""
        self.deletable.extend(topics)

    def next_deletable(self) -> str:
        """Remove and return the first topic of `deletable`."""
        return self.deletable.popleft()

    def begin_dropping(self, topic: str, replicas: set[tuple[int, int]]) -> None:
        """These replicas, by partition and broker, must be gone before the topic's records are deleted."""
        self.dropping[topic] = replicas

    def dropped(self, key: TopicPartition, broker: int) -> bool:
        """The broker has deleted its replica.

        Return whether it was the last one of a topic that is being deleted.
        """
        left = self.dropping.get(key.topic)
        if left is None:
            return False
        left.discard((key.partition, broker))
        return not left


def _invalid(what: str) -> Outcome:
    return Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {what}")
