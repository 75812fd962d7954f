"""Conversion of the controller's changes into operations on Kafka's znodes, one multi at a time.

A partition is stored in two znodes: as a row in its topic's, and in its state znode. A multi writes a state
znode once for each change of the partition, so that its version equals the partition epoch of the controller.
It writes a topic's znode once.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set
from backends.zookeeper.store.znode_cache import (
    NO_PARENTS,
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
from controller.state.settings import CLUSTER_DEFAULT


class ZnodeTransaction:
    """Changes on top of a cache: `apply` them, write `operations`, then call `adopt` to update the cache.

    `apply` raises StaleError when a change cannot be merged safely with the cached znodes.
    """

    def __init__(self, cache: ZnodeCache, controller_epoch: int, *, with_topic_ids: bool) -> None:
        self._cache = cache
        self._epoch = controller_epoch
        self._with_ids = with_topic_ids
        self._topics: dict[str, StoredTopic | None] = {}
        """Copies of the changed topics; None for a deleted one."""
        self._sizes: dict[str, int] = {}
        """How many partitions those topics had in the cache."""
        self._rewritten: dict[str, None] = {}
        """Topics whose own znode is written."""
        self._configs: dict[str, StoredConfig] = {}
        self._states: list[Operation] = []
        self._creates: list[Operation] = []
        self._deletes: list[Operation] = []
        self.merged: list[Partition] = []
        """Partitions that are not stored as decided; see `merge`."""
        self.partitions: list[TopicPartition] = []
        """All written partitions."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Add the changes, in order. Raises StaleError."""
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
                    pass  # Brokers register themselves; the election has stored the epoch.
                case _:
                    raise AssertionError(f"{change} is not kept in Kafka's znodes")

    def operations(self) -> list[Operation]:
        """Return the operations of one multi; parents are created before and deleted after their children."""
        topics = [
            _write_topic(name, topic)
            for name in self._rewritten
            if (topic := self._topics.get(name)) is not None
        ]
        configs = [operation for entity in self._configs for operation in self._config_operations(entity)]
        return [*topics, *self._creates, *self._states, *self._deletes, *configs]

    def _config_operations(self, entity: str) -> list[Operation]:
        """Return the write of an entity's configs and its notification, which brokers watch."""
        config, path = self._configs[entity], paths.config(entity)
        if self._deletes_topic_of(entity):
            return [Delete(path)] if config.version >= 0 else []
        data = encode_config(config.values)
        return [
            Set(path, data, config.version) if config.version >= 0 else Create(path, data),
            Create(paths.CONFIG_CHANGE_PREFIX, encode_config_change(entity), sequence=True),
        ]

    def _deletes_topic_of(self, entity: str) -> bool:
        topic = entity.removeprefix("topics/")
        return topic in self._topics and self._topics[topic] is None

    def adopt(self) -> None:
        """Update the cache: the operations have succeeded."""
        for name, topic in self._topics.items():
            if topic is None:
                self._cache.topics.pop(name, None)
            else:
                topic.version += name in self._rewritten
                self._cache.adopt(name, topic, self._sizes.get(name, 0))
        for entity, config in self._configs.items():
            if self._deletes_topic_of(entity):
                self._cache.configs.pop(entity, None)
            else:
                config.version += 1
                self._cache.configs[entity] = config

    @property
    def entities(self) -> AbstractSet[str]:
        """The entities whose configs are written."""
        return self._configs.keys()

    def _topic(self, name: str) -> StoredTopic:
        """Return the topic as it will be stored. It is in the cache, or created by this transaction."""
        topic = self._topics.get(name)
        if topic is None:
            cached = self._cache.topics[name]
            topic = StoredTopic(
                cached.version, cached.id, [*cached.partitions], cached.parents, cached.deletable
            )
            self._topics[name] = topic
            self._sizes[name] = len(cached.partitions)
        return topic

    def _put_topic(self, topic: Topic) -> None:
        if topic.name not in self._cache.topics and self._topics.get(topic.name) is None:
            self._topics[topic.name] = StoredTopic(-1, topic.id if self._with_ids else NO_ID, parents=0)
            self._rewritten[topic.name] = None
            self._creates.append(Create(paths.partitions(topic.name)))
        elif self._with_ids and topic.id != NO_ID and self._topic(topic.name).id == NO_ID:
            self._topic(topic.name).id = topic.id
            self._rewritten[topic.name] = None
        if topic.deleting:
            self._request_deletion(topic.name)

    def _request_deletion(self, name: str) -> None:
        topic = self._topic(name)
        if not topic.deletable:
            topic.deletable = True
            self._creates.append(Create(paths.delete_topic(name)))

    def _put_partition(self, partition: Partition) -> None:
        topic = self._topic(partition.topic)
        number = partition.partition
        self.partitions.append(partition.key)
        if number == len(topic.partitions):
            topic.partitions.append(partition._replace(leader_epoch=-1, partition_epoch=NO_STATE))
            self._rewritten[partition.topic] = None
        before = topic.partitions[number]
        after = merge(partition, before)
        if after != partition:
            self.merged.append(after)
        topic.partitions[number] = after
        if not same_assignment(before, after):
            self._rewritten[partition.topic] = None
        if not same_state(before, after):
            self._write_state(topic, before, after)

    def _write_state(self, topic: StoredTopic, before: Partition, after: Partition) -> None:
        """Write a state znode; create its parents where they are missing."""
        name, number = after.topic, after.partition
        path, data = paths.state(name, number), encode_state(after, self._epoch)
        if before.partition_epoch != NO_STATE:
            self._states.append(Set(path, data, before.partition_epoch))
            return
        if topic.parents == NO_PARENTS:
            self._creates.append(Create(paths.partitions(name)))
            topic.parents = 0
        if number >= topic.parents:
            self._creates.append(Create(paths.partition(name, number)))
            topic.parents = number + 1
        self._states.append(Create(path, data))

    def _config(self, resource: ResourceType, name: str) -> StoredConfig:
        entity = entity_of(resource, name)
        if entity not in self._configs:
            cached = self._cache.configs.get(entity, StoredConfig(-1, {}))
            self._configs[entity] = StoredConfig(cached.version, dict(cached.values))
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
        """Delete the znodes of a topic's last partition. The topic's own znode is deleted with the topic."""
        # A large deletion takes several multis. The request to delete makes the next controller finish it.
        self._request_deletion(key.topic)
        topic = self._topic(key.topic)
        # Partitions above it were added by others and have not started: they exist only as rows of the topic.
        del topic.partitions[key.partition + 1 :]
        last = topic.partitions.pop()
        if last.partition_epoch != NO_STATE:
            self._deletes.append(Delete(paths.state(*key)))
        if key.partition < topic.parents:
            self._deletes.append(Delete(paths.partition(*key)))
            topic.parents = key.partition

    def _delete_topic(self, name: str) -> None:
        topic = self._topic(name)
        if topic.parents != NO_PARENTS:
            self._deletes.append(Delete(paths.partitions(name)))
        if topic.deletable:
            self._deletes.append(Delete(paths.delete_topic(name)))
        self._deletes.append(Delete(paths.topic(name), ANY))
        self._topics[name] = None
        self._rewritten.pop(name, None)
        self._config(ResourceType.TOPIC, name)


def entity_of(resource: ResourceType, name: str) -> str:
    """Return the name of an entity with configs in paths and notifications, for example `topics/foo`."""
    if resource is ResourceType.TOPIC:
        return f"topics/{name}"
    return "brokers/<default>" if name == CLUSTER_DEFAULT else f"brokers/{name}"


def resource_of(entity: str) -> tuple[ResourceType, str] | None:
    """Return the resource of an entity name; None for other kinds of entities (users, clients)."""
    kind, _, name = entity.partition("/")
    if kind == "topics":
        return ResourceType.TOPIC, name
    if kind == "brokers":
        return ResourceType.BROKER, CLUSTER_DEFAULT if name == "<default>" else name
    return None


def _write_topic(name: str, topic: StoredTopic) -> Operation:
    rows = {p.partition: Assignment(p.replicas, p.adding, p.removing) for p in topic.partitions}
    data = encode_topic(TopicZnode(topic.id, rows))
    path = paths.topic(name)
    return Create(path, data) if topic.version < 0 else Set(path, data, topic.version)
