"""Division of changes into multis.

ZooKeeper limits requests to 1 MB, and the znode of a topic or entity is written whole.
"""

from collections.abc import Iterator, Sequence

from backends.zookeeper.store.records import ChunkData
from backends.zookeeper.store.transaction import entity_of
from backends.zookeeper.store.znode_cache import ZnodeCache, same_assignment
from controller.model.cluster import NO_ID, Change, Config, Deleted, Partition, Topic

MULTI_BYTES = 500_000
MULTI_CHANGES = 250

OPERATION_BYTES = 250
"""Estimated bytes of the operations of one change, without names and replicas."""
ROW_BYTES = 20
"""Estimated bytes of a partition's row in its topic's znode, without replicas."""
REPLICA_BYTES = 8


class MultiSpace:
    """The space in one multi. Sizes are estimates, on the large side."""

    def __init__(self, cache: ZnodeCache) -> None:
        self.bytes = 0
        self._cache = cache
        self._changes = 0
        self._counted: set[str] = set()
        """Topics and entities whose whole znode has been counted."""
        self._deleted: set[object] = set()

    def take(self, change: Change) -> bool:
        """Add a change if it fits; the first change always does.

        A topic that is created again does not fit into the multi that deletes it: its znodes are deleted last
        there.
        """
        size = self._size(change)
        recreated = type(change) is Topic and change.name in self._deleted
        full = self._changes >= MULTI_CHANGES or self.bytes + size > MULTI_BYTES
        if self._changes and (full or recreated):
            return False
        self._changes += 1
        self.bytes += size
        if isinstance(change, Deleted) and change.kind is Topic:
            self._deleted.add(change.key)
        return True

    def _size(self, change: Change) -> int:
        match change:
            case Partition():
                size = OPERATION_BYTES + 2 * len(change.topic) + _row_bytes(change)
                return size + (self._topic_bytes(change.topic) if self._rewrites_topic(change) else 0)
            case Topic():
                stored = self._cache.topics.get(change.name)
                gets_id = stored is not None and stored.id == NO_ID != change.id
                return OPERATION_BYTES + len(change.name) + (self._topic_bytes(change.name) if gets_id else 0)
            case Config():
                entity = entity_of(change.resource, change.name)
                return OPERATION_BYTES + len(change.value) + self._config_bytes(entity)
            case Deleted(key=tuple() as key) if change.kind is Config:
                resource, name, _ = key
                return self._config_bytes(entity_of(resource, name))
        return OPERATION_BYTES

    def _rewrites_topic(self, change: Partition) -> bool:
        stored = self._cache.partition(change.key)
        return stored is None or not same_assignment(change, stored)

    def _topic_bytes(self, name: str) -> int:
        """Return the bytes of the topic's znode; 0 if it is counted already."""
        stored = self._cache.topics.get(name)
        if stored is None or name in self._counted:
            return 0
        self._counted.add(name)
        return sum(_row_bytes(each) for each in stored.partitions)

    def _config_bytes(self, entity: str) -> int:
        """Return the bytes of the entity's znode and of its change notification.

        0 if they are counted already.
        """
        if entity in self._counted:
            return 0
        self._counted.add(entity)
        stored = self._cache.configs.get(entity)
        values = {} if stored is None else stored.values
        return OPERATION_BYTES + 2 * len(entity) + sum(len(k) + len(v) + 6 for k, v in values.items())


def batched(changes: Sequence[Change], cache: ZnodeCache) -> Iterator[Sequence[Change]]:
    """Yield the changes in order, in batches of one multi each.

    Each batch is measured by the cache as it is by then.
    """
    batch: list[Change] = []
    space = MultiSpace(cache)
    for change in changes:
        if not space.take(change):
            yield batch
            batch, space = [], MultiSpace(cache)
            space.take(change)
        batch.append(change)
    if batch:
        yield batch


def pieces_of(data: ChunkData) -> Iterator[ChunkData]:
    """Yield parts that fit into one multi each."""
    piece, size = ChunkData(), 0
    for path, content in data.items():
        added = len(path) + len(content or b"")
        if piece and size + added > MULTI_BYTES:
            yield piece
            piece, size = ChunkData(), 0
        piece[path] = content
        size += added
    if piece:
        yield piece


def size_of(data: ChunkData) -> int:
    """Return the size in bytes."""
    return sum(len(path) + len(content or b"") for path, content in data.items())


def fits(changes: Sequence[Change], data: ChunkData, cache: ZnodeCache) -> bool:
    """Return whether one multi can write all of it."""
    space = MultiSpace(cache)
    return all(map(space.take, changes)) and space.bytes + size_of(data) <= MULTI_BYTES


def fits_topic(partitions: int, replicas: int) -> bool:
    """Return whether a topic of this size can be written: its znode contains all partitions."""
    return ROW_BYTES * partitions + REPLICA_BYTES * replicas <= MULTI_BYTES


def _row_bytes(partition: Partition) -> int:
    """Return the bytes of the partition's row in its topic's znode."""
    replicas = len(partition.replicas) + len(partition.adding) + len(partition.removing)
    return ROW_BYTES + REPLICA_BYTES * replicas
