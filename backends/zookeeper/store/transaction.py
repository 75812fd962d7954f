"""From the core's changes to operations on Kafka's znodes: one multi's worth at a time.

A partition is two znodes: its entry in the topic's, and its state. In one multi the states are written one by one, each on
top of the last, so that the version of the znode is the partition epoch that the core counted; a topic's znode once.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set
from backends.zookeeper.store.znode_cache import (
    NO_FOLDERS,
    NO_STATE,
    StoredConfig,
    StoredTopic,
    ZnodeCache,
    merge,
    same_assignment,
    same_state,
)
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import (
    Assignment,
    TopicZnode,
    encode_config,
    encode_config_change,
    encode_state,
    encode_topic,
)
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import (
    NO_ID,
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Partition,
    ResourceType,
    Topic,
    TopicPartition,
)

NULL_TOPIC = StoredTopic(-1)


class ZnodeTransaction:
    """What will be stored when `operations` succeed; `adopt` makes it what is stored.

    Making one raises StaleError when a change cannot be stored as it is, nor safely in another way.
    """

    def __init__(self, cache: ZnodeCache, controller_epoch: int, *, with_topic_ids: bool) -> None:
        self._cache = cache
        self._epoch = controller_epoch
        self._with_ids = with_topic_ids
        self._topics: dict[str, StoredTopic | None] = {}
        self._sizes: dict[str, int] = {}
        """Partitions that topics had when they were drafted."""
        self._reassigned: dict[str, None] = {}
        """Topics whose znode is to be written."""
        self._configs: dict[str, StoredConfig] = {}
        self._states: list[Operation] = []
        self._made: list[Operation] = []
        self._gone: list[Operation] = []
        self.merged: list[Partition] = []
        """Partitions that are stored otherwise than was decided."""
        self.partitions: list[TopicPartition] = []
        """All that were written."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Take the changes, in order."""
        for change in changes:
            match change:
                case Partition():
                    self._put_partition(change)
                case Topic():
                    self._put_topic(change)
                case Config():
                    self._config(change.resource, change.name).values[change.config] = change.value
                case Deleted():
                    self._delete(change)
                case Broker() | ControllerEpoch():
                    pass  # A broker registers itself; the epoch was won with the election.
                case _:
                    raise AssertionError(f"{change} is not kept in Kafka's znodes")

    def operations(self) -> list[Operation]:
        """What one multi does."""
        topics: list[Operation] = []
        for name in self._reassigned:
            stored = self._topics.get(name)
            if stored is not None:
                topics.append(_topic(name, stored))
        configs: list[Operation] = []
        for entity, config in self._configs.items():
            if self._topics.get(entity.removeprefix("topics/"), NULL_TOPIC) is None:
                if config.version >= 0:
                    configs.append(Delete(paths.config(entity)))
                continue
            data = encode_config(config.values)
            path = paths.config(entity)
            configs.append(Set(path, data, config.version) if config.version >= 0 else Create(path, data))
            change = Create(
                f"{paths.CONFIG_CHANGES}/config_change_", encode_config_change(entity), sequence=True
            )
            configs.append(change)
        return [*topics, *self._made, *self._states, *self._gone, *configs]

    def adopt(self) -> None:
        """The operations succeeded."""
        for name, drafted in self._topics.items():
            if drafted is None:
                self._cache.topics.pop(name, None)
            else:
                drafted.version += name in self._reassigned
                self._cache.adopt(name, drafted, self._sizes.get(name, 0))
        for entity, config in self._configs.items():
            if self._topics.get(entity.removeprefix("topics/"), NULL_TOPIC) is None:
                self._cache.configs.pop(entity, None)
            else:
                config.version += 1
                self._cache.configs[entity] = config

    @property
    def entities(self) -> AbstractSet[str]:
        """Whose configs are written."""
        return self._configs.keys()

    def _topic(self, name: str) -> StoredTopic:
        """The topic as it will be; it is there, or its making is part of this draft."""
        drafted = self._topics.get(name)
        if drafted is None:
            known = self._cache.topics[name]
            drafted = StoredTopic(
                known.version, known.id, [*known.partitions], known.folders, known.deletable
            )
            self._topics[name] = drafted
            self._sizes[name] = len(known.partitions)
        return drafted

    def _put_topic(self, topic: Topic) -> None:
        if topic.name not in self._cache.topics and self._topics.get(topic.name) is None:
            self._topics[topic.name] = StoredTopic(-1, topic.id if self._with_ids else NO_ID, folders=0)
            self._reassigned[topic.name] = None
            self._made.append(Create(paths.partitions(topic.name)))
        elif self._with_ids and topic.id != NO_ID and self._topic(topic.name).id == NO_ID:
            self._topic(topic.name).id = topic.id
            self._reassigned[topic.name] = None
        if topic.deleting:
            self._doom(topic.name)

    def _doom(self, name: str) -> None:
        stored = self._topic(name)
        if not stored.deletable:
            stored.deletable = True
            self._made.append(Create(paths.delete_topic(name)))

    def _put_partition(self, partition: Partition) -> None:
        topic = self._topic(partition.topic)
        number = partition.partition
        self.partitions.append(partition.key)
        if number == len(topic.partitions):
            topic.partitions.append(partition._replace(leader_epoch=-1, partition_epoch=NO_STATE))
            self._reassigned[partition.topic] = None
        before = topic.partitions[number]
        after = merge(partition, before)
        if after != partition:
            self.merged.append(after)
        topic.partitions[number] = after
        if not same_assignment(before, after):
            self._reassigned[partition.topic] = None
        if same_state(before, after):
            return
        data = encode_state(after, self._epoch)
        path = paths.state(partition.topic, number)
        if before.partition_epoch != NO_STATE:
            self._states.append(Set(path, data, before.partition_epoch))
            return
        if topic.folders == NO_FOLDERS:
            self._made.append(Create(paths.partitions(partition.topic)))
            topic.folders = 0
        if number >= topic.folders:
            self._made.append(Create(paths.partition(partition.topic, number)))
            topic.folders = number + 1
        self._states.append(Create(path, data))

    def _config(self, resource: ResourceType, name: str) -> StoredConfig:
        entity = entity_of(resource, name)
        if entity not in self._configs:
            known = self._cache.configs.get(entity, StoredConfig(-1, {}))
            self._configs[entity] = StoredConfig(known.version, dict(known.values))
        return self._configs[entity]

    def _delete(self, deleted: Deleted) -> None:
        key = deleted.key
        if isinstance(key, TopicPartition):
            self._delete_partition(key)
        elif isinstance(key, tuple):
            resource, name, config = key
            self._config(resource, name).values.pop(config, None)
        elif isinstance(key, str):
            self._delete_topic(key)

    def _delete_partition(self, key: TopicPartition) -> None:
        """The highest of its topic; what is left of the topic's znode goes with the topic."""
        # Should this not be the last multi of a deletion, the order to delete says what is to become of the rest.
        self._doom(key.topic)
        topic = self._topic(key.topic)
        # Those above it were added by others, and nobody leads them: they have no znodes but their topic's.
        del topic.partitions[key.partition + 1 :]
        last = topic.partitions.pop()
        if last.partition_epoch != NO_STATE:
            self._gone.append(Delete(paths.state(*key)))
        if key.partition < topic.folders:
            self._gone.append(Delete(paths.partition(*key)))
            topic.folders = key.partition

    def _delete_topic(self, name: str) -> None:
        topic = self._topic(name)
        if topic.folders != NO_FOLDERS:
            self._gone.append(Delete(paths.partitions(name)))
        if topic.deletable:
            self._gone.append(Delete(paths.delete_topic(name)))
        self._gone.append(Delete(paths.topic(name), ANY))
        self._topics[name] = None
        self._reassigned.pop(name, None)
        self._config(ResourceType.TOPIC, name)


def entity_of(resource: ResourceType, name: str) -> str:
    """What Kafka calls a configured thing in paths and notifications."""
    if resource is ResourceType.TOPIC:
        return f"topics/{name}"
    return "brokers/<default>" if name == CLUSTER_DEFAULT else f"brokers/{name}"


def resource_of(entity: str) -> tuple[ResourceType, str] | None:
    """The other way; None for what has no configs here (users, clients)."""
    kind, _, name = entity.partition("/")
    if kind == "topics":
        return ResourceType.TOPIC, name
    if kind == "brokers":
        return ResourceType.BROKER, CLUSTER_DEFAULT if name == "<default>" else name
    return None


def _topic(name: str, stored: StoredTopic) -> Operation:
    rows = {p.partition: Assignment(p.replicas, p.adding, p.removing) for p in stored.partitions}
    data = encode_topic(TopicZnode(stored.id, rows))
    path = paths.topic(name)
    return Create(path, data) if stored.version < 0 else Set(path, data, stored.version)
