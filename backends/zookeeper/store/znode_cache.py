"""Cache of Kafka's znodes: the base of the next writes, and the only source of what brokers are sent.

The controller's state is ahead of the cache while a commit is in progress. A partition's `partition_epoch` is
the version of its state znode; NO_STATE if that does not exist.
"""

from dataclasses import dataclass, field

from backends.zookeeper.znodes.formats import Assignment, StateZnode, TopicZnode
from controller.model.cluster import NO_ID, NO_LEADER, Partition, TopicPartition
from controller.ports import StoreLostError

NO_STATE = -1
NO_PARENTS = -1
"""The topic's znode `partitions` does not exist."""


class StaleError(StoreLostError):
    """A decision conflicts with what brokers have stored, and cannot be merged safely.

    The term must end and load again.
    """


@dataclass(slots=True)
class StoredTopic:
    """A topic's znodes; `partitions` are in order from 0."""

    version: int
    id: bytes = NO_ID
    partitions: list[Partition] = field(default_factory=list)
    parents: int = NO_PARENTS
    """How many partitions have a znode, the parent of the state znode. Partitions from 0 to `parents - 1`
    have one."""
    deletable: bool = False
    """Whether a request to delete the topic exists."""


@dataclass(slots=True)
class StoredConfig:
    """The configs of a topic or broker."""

    version: int
    values: dict[str, str]


class ZnodeCache:
    """Topics and configs. The cache changes only after a write has succeeded or a znode was read."""

    def __init__(self) -> None:
        self.topics: dict[str, StoredTopic] = {}
        self.configs: dict[str, StoredConfig] = {}

    def partition(self, key: TopicPartition) -> Partition | None:
        """Return the partition as it is stored, None if it is not."""
        topic = self.topics.get(key.topic)
        if topic is None or key.partition >= len(topic.partitions):
            return None
        return topic.partitions[key.partition]

    def adopt(self, name: str, written: StoredTopic, size: int) -> None:
        """Merge a topic that was written; it had `size` partitions when the write was prepared.

        Znodes may have been read between the write and its response, and brokers write states too. So a state
        that is cached with a higher version is newer than the written one, and partitions above `size` were
        added by others.
        """
        cached = self.topics.get(name)
        if cached is not None:
            for number, (ours, read) in enumerate(zip(written.partitions, cached.partitions, strict=False)):
                if read.partition_epoch > ours.partition_epoch:
                    written.partitions[number] = with_state_of(ours, read)
            written.partitions += cached.partitions[max(size, len(written.partitions)) :]
            written.version = max(written.version, cached.version)
        self.topics[name] = written

    def observe_state(self, key: TopicPartition, state: StateZnode, version: int) -> Partition | None:
        """Take in a state znode that was read.

        Return the partition if the state is newer than the cached one.
        """
        cached = self.partition(key)
        if cached is None or version <= cached.partition_epoch:
            return None
        observed = cached._replace(
            isr=state.isr, leader=state.leader, leader_epoch=state.leader_epoch, partition_epoch=version
        )
        self.topics[key.topic].partitions[key.partition] = observed
        return observed

    def observe_topic(self, name: str, topic: TopicZnode, version: int) -> None:
        """Take in a topic znode that was read: add partitions that are not in the cache.

        Assignments of known partitions are not taken over: the controller alone changes them, and a tool that
        added partitions may have read the znode before our last change. A partition without a state znode was
        added by a tool and has not started, so its latest assignment counts.
        """
        stored = self.topics.setdefault(name, StoredTopic(version, topic.id))
        for number, cached in enumerate(stored.partitions):
            if cached.partition_epoch == NO_STATE and number in topic.partitions and version > stored.version:
                stored.partitions[number] = new_partition(name, number, topic.partitions[number])
        stored.version = max(version, stored.version)
        for number in range(len(stored.partitions), len(topic.partitions)):
            stored.partitions.append(new_partition(name, number, topic.partitions[number]))

    def added(self, name: str, first: int) -> list[Partition]:
        """Return the partitions from number `first` that have no state znode: others have added them."""
        return [each for each in self.topics[name].partitions[first:] if each.partition_epoch == NO_STATE]


def new_partition(topic: str, number: int, assignment: Assignment) -> Partition:
    """Return a partition without a state znode.

    It has no leader, and every replica may lead (Kafka: NewPartition).
    """
    replicas, adding, removing = assignment
    return Partition(topic, number, replicas, replicas, NO_LEADER, -1, NO_STATE, adding, removing)


def merge(decided: Partition, stored: Partition) -> Partition:
    """Return what to store of a decision when the leader may have changed the ISR in ZooKeeper meanwhile.

    Below inter-broker protocol 2.7 leaders store ISRs themselves. A decision that was made with an older
    state must not bring back a replica that the leader has removed: it may lack committed data. Raises
    StaleError when no safe merge exists.
    """
    if same_state(decided, stored):
        # Only the assignment changes.
        return with_state_of(decided, stored)
    if decided.partition_epoch == stored.partition_epoch + 1:
        # The decision was made with the stored state.
        return decided
    if decided.leader_epoch == stored.leader_epoch:
        # The leader is the same, and has stored a newer state.
        return with_state_of(decided, stored)
    # The ISR is the intersection. A replica that has just joined the ISR is left out, and will join again.
    isr = tuple(r for r in decided.isr if r in stored.isr)
    if decided.leader == NO_LEADER:
        # An ISR is never empty: its members are the replicas that may lead later.
        isr = isr or stored.isr
    elif decided.leader not in isr and stored.leader in isr and same_assignment(decided, stored):
        # The leader has removed its elected successor from the ISR. It stays the leader, in the decided
        # epoch.
        decided = decided._replace(leader=stored.leader)
    elif decided.leader not in isr:
        raise StaleError(
            f"{decided.key}: elected leader {decided.leader} has left the ISR {list(stored.isr)}"
        )
    elif isr != decided.isr and not set(stored.replicas) <= set(decided.replicas):
        # The replicas to drop were chosen with another ISR. Without them, too few copies could be left.
        raise StaleError(
            f"{decided.key}: the ISR has changed to {list(stored.isr)} before replicas are dropped"
        )
    return decided._replace(isr=isr, partition_epoch=stored.partition_epoch + 1)


def with_state_of(assigned: Partition, stored: Partition) -> Partition:
    """Return a partition with the replicas of `assigned`, and the leader and ISR of `stored`."""
    return stored._replace(replicas=assigned.replicas, adding=assigned.adding, removing=assigned.removing)


def same_state(one: Partition, other: Partition) -> bool:
    """Return whether both have the same state znode."""
    return (one.leader, one.leader_epoch, one.isr) == (other.leader, other.leader_epoch, other.isr)


def same_assignment(one: Partition, other: Partition) -> bool:
    """Return whether both have the same row in the topic's znode."""
    return (one.replicas, one.adding, one.removing) == (other.replicas, other.adding, other.removing)
