"""What fits in one multi: ZooKeeper takes requests of 1 MB, and a topic's or an entity's znode is written whole."""

from collections.abc import Iterator, Sequence

from backends.zookeeper.store.record_chunks import Image
from backends.zookeeper.store.transaction import entity_of
from backends.zookeeper.store.znode_cache import ZnodeCache, same_assignment
from controller.model.cluster import NO_ID, Change, Config, Deleted, Partition, Topic

MULTI_BYTES = 500_000
MULTI_CHANGES = 250

OPERATION_BYTES = 250
"""About what the operations of one change take, without names and numbers of replicas."""
ROW_BYTES = 20
"""About what a partition takes in its topic's znode, without its replicas."""
REPLICA_BYTES = 8


class MultiSpace:
    """One multi that is being filled. The bytes are an estimate, on the large side."""

    def __init__(self, cache: ZnodeCache) -> None:
        self.bytes = 0
        self._cache = cache
        self._changes = 0
        self._whole: set[str] = set()
        """Topics and entities whose znodes it has."""
        self._deleted: set[object] = set()

    def take(self, change: Change) -> bool:
        """Whether the change still fits; the first always does. A topic made anew does not fit with its deletion."""
        size = self._size(change)
        remade = type(change) is Topic and change.name in self._deleted
        full = self._changes >= MULTI_CHANGES or self.bytes + size > MULTI_BYTES
        if self._changes and (full or remade):
            return False
        self._changes += 1
        self.bytes += size
        if isinstance(change, Deleted) and change.kind is Topic:
            self._deleted.add(change.key)
        return True

    def _size(self, change: Change) -> int:
        match change:
            case Partition():
                rewritten = self._reassigned(change)
                own = OPERATION_BYTES + 2 * len(change.topic) + _row(change)
                return own + (self._topic(change.topic) if rewritten else 0)
            case Topic():
                known = self._cache.topics.get(change.name)
                identified = known is not None and known.id == NO_ID != change.id
                return OPERATION_BYTES + len(change.name) + (self._topic(change.name) if identified else 0)
            case Config():
                entity = entity_of(change.resource, change.name)
                return OPERATION_BYTES + len(change.value) + self._config(entity)
            case Deleted(key=tuple() as key) if change.kind is Config:
                resource, name, _ = key
                return self._config(entity_of(resource, name))
        return OPERATION_BYTES

    def _reassigned(self, change: Partition) -> bool:
        known = self._cache.partition(change.key)
        return known is None or not same_assignment(change, known)

    def _topic(self, name: str) -> int:
        """Bytes of the topic's znode, once."""
        known = self._cache.topics.get(name)
        if known is None or name in self._whole:
            return 0
        self._whole.add(name)
        return sum(_row(each) for each in known.partitions)

    def _config(self, entity: str) -> int:
        """Bytes of the entity's znode and of the notice of its change, once."""
        if entity in self._whole:
            return 0
        self._whole.add(entity)
        known = self._cache.configs.get(entity)
        values = {} if known is None else known.values
        return OPERATION_BYTES + 2 * len(entity) + sum(len(k) + len(v) + 6 for k, v in values.items())


def batched(changes: Sequence[Change], cache: ZnodeCache) -> Iterator[Sequence[Change]]:
    """In order, so many that a multi takes them. A batch is made when it is asked for, by what the cache knows then."""
    batch: list[Change] = []
    room = MultiSpace(cache)
    for change in changes:
        if not room.take(change):
            yield batch
            batch, room = [], MultiSpace(cache)
            room.take(change)
        batch.append(change)
    if batch:
        yield batch


def pieces_of(image: Image) -> Iterator[Image]:
    """Parts that a multi takes."""
    piece, size = Image(), 0
    for path, data in image.items():
        added = len(path) + len(data or b"")
        if piece and size + added > MULTI_BYTES:
            yield piece
            piece, size = Image(), 0
        piece[path] = data
        size += added
    if piece:
        yield piece


def size_of(image: Image) -> int:
    """Bytes."""
    return sum(len(path) + len(data or b"") for path, data in image.items())


def fits(changes: Sequence[Change], image: Image, cache: ZnodeCache) -> bool:
    """All of it goes into one multi."""
    room = MultiSpace(cache)
    return all(map(room.take, changes)) and room.bytes + size_of(image) <= MULTI_BYTES


def fits_topic(partitions: int, replicas: int) -> bool:
    """Whether a topic's znode can be written, which is done with all of its partitions at once."""
    return ROW_BYTES * partitions + REPLICA_BYTES * replicas <= MULTI_BYTES


def _row(partition: Partition) -> int:
    """Bytes of the partition's row in its topic's znode."""
    replicas = len(partition.replicas) + len(partition.adding) + len(partition.removing)
    return ROW_BYTES + REPLICA_BYTES * replicas
