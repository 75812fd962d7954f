"""What is stored in Kafka's znodes, as far as we know: what writes are built on, and what brokers may be told.

The core's state is ahead of it while a commit is under way. A partition whose `partition_epoch` is NO_STATE has no state
znode yet; otherwise the epoch is that znode's version.
"""

from dataclasses import dataclass, field

from backends.zookeeper.znodes.formats import Assignment, StateZnode, TopicZnode
from controller.model.cluster import NO_ID, NO_LEADER, Partition, TopicPartition
from controller.ports import StoreLostError

NO_STATE = -1
NO_FOLDERS = -1
"""Even the parent of the partitions' znodes is missing."""


class StaleError(StoreLostError):
    """What was decided does not fit what brokers have stored meanwhile, and no safe mean exists: decide again."""


@dataclass(slots=True)
class StoredTopic:
    """One topic's znodes; `partitions` by number from 0."""

    version: int
    id: bytes = NO_ID
    partitions: list[Partition] = field(default_factory=list)
    folders: int = NO_FOLDERS
    """How many partitions have the parent of a state znode, counted from 0."""
    deletable: bool = False
    """There is an order to delete it."""


@dataclass(slots=True)
class StoredConfig:
    """One entity's configured values."""

    version: int
    values: dict[str, str]


class ZnodeCache:
    """Everything of Kafka's that we know. Changed when a write succeeded or a znode was read, never before."""

    def __init__(self) -> None:
        self.topics: dict[str, StoredTopic] = {}
        self.configs: dict[str, StoredConfig] = {}

    def partition(self, key: TopicPartition) -> Partition | None:
        """The partition as it is stored."""
        topic = self.topics.get(key.topic)
        if topic is None or key.partition >= len(topic.partitions):
            return None
        return topic.partitions[key.partition]

    def adopt(self, name: str, written: StoredTopic, size: int) -> None:
        """The topic was written so; it had `size` partitions when that was drafted.

        What was read meanwhile may be newer: brokers write states too.
        """
        known = self.topics.get(name)
        if known is not None:
            for number, (ours, read) in enumerate(zip(written.partitions, known.partitions, strict=False)):
                if read.partition_epoch > ours.partition_epoch:
                    written.partitions[number] = with_state_of(ours, read)
            written.partitions += known.partitions[max(size, len(written.partitions)) :]
            written.version = max(written.version, known.version)
        self.topics[name] = written

    def observe_state(self, key: TopicPartition, state: StateZnode, version: int) -> Partition | None:
        """A state znode was read; the partition when that is news."""
        known = self.partition(key)
        if known is None or version <= known.partition_epoch:
            return None
        seen = known._replace(
            isr=state.isr, leader=state.leader, leader_epoch=state.leader_epoch, partition_epoch=version
        )
        self.topics[key.topic].partitions[key.partition] = seen
        return seen

    def observe_topic(self, name: str, topic: TopicZnode, version: int) -> None:
        """A topic znode was read: partitions that were not known are taken in.

        What it says of those that are known is ours to say: someone who added partitions may have read it before our
        last change. Of those without a state znode the latest counts: others have added them, and may have to mend that.
        """
        stored = self.topics.setdefault(name, StoredTopic(version, topic.id))
        for number, known in enumerate(stored.partitions):
            if known.partition_epoch == NO_STATE and number in topic.partitions and version > stored.version:
                stored.partitions[number] = bare(name, number, topic.partitions[number])
        stored.version = max(version, stored.version)
        for number in range(len(stored.partitions), len(topic.partitions)):
            stored.partitions.append(bare(name, number, topic.partitions[number]))

    def added(self, name: str, known: int) -> list[Partition]:
        """Those from number `known` on without a state: someone else has added them."""
        later = self.topics[name].partitions[known:]
        return [each for each in later if each.partition_epoch == NO_STATE]


def bare(topic: str, number: int, assignment: Assignment) -> Partition:
    """A partition without a state znode: nobody leads, and whoever is alive may (Kafka: NewPartition)."""
    replicas, adding, removing = assignment
    return Partition(topic, number, replicas, replicas, NO_LEADER, -1, NO_STATE, adding, removing)


def merge(decided: Partition, stored: Partition) -> Partition:
    """What to store of a decision when brokers may have changed the ISR behind it.

    The ISR is what both sides agree on: nobody is in it that the leader has expelled, or that the controller has. A
    replica that had just joined will join again. A leader that was expelled meanwhile is not elected: whoever leads goes
    on, when both sides hold it to be in sync and nothing else was decided, in the decided epoch. Raises StaleError when
    the leader is left out otherwise, or replicas would go from the list though the ISR is not what that was decided on.
    """
    if same_state(decided, stored):
        return with_state_of(decided, stored)
    if decided.partition_epoch == stored.partition_epoch + 1:
        return decided
    if decided.leader_epoch == stored.leader_epoch:
        return with_state_of(decided, stored)
    isr = tuple(r for r in decided.isr if r in stored.isr)
    if decided.leader == NO_LEADER:
        isr = isr or stored.isr
    elif decided.leader not in isr and stored.leader in isr and same_assignment(decided, stored):
        decided = decided._replace(leader=stored.leader)
    elif decided.leader not in isr:
        raise StaleError(f"{decided.key}: {decided.leader} is not in the ISR {list(stored.isr)} any more")
    elif isr != decided.isr and not set(stored.replicas) <= set(decided.replicas):
        raise StaleError(f"{decided.key}: the ISR is {list(stored.isr)} now")
    return decided._replace(isr=isr, partition_epoch=stored.partition_epoch + 1)


def with_state_of(assigned: Partition, stored: Partition) -> Partition:
    """Replicas of the one, leader and ISR of the other."""
    return stored._replace(replicas=assigned.replicas, adding=assigned.adding, removing=assigned.removing)


def same_state(one: Partition, other: Partition) -> bool:
    """Their state znodes say the same."""
    return (one.leader, one.leader_epoch, one.isr) == (other.leader, other.leader_epoch, other.isr)


def same_assignment(one: Partition, other: Partition) -> bool:
    """Their entries in the topic znode are the same."""
    return (one.replicas, one.adding, one.removing) == (other.replicas, other.adding, other.removing)
