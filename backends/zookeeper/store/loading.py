"""Loading of all znodes at the start of a term, and reading of single znodes later.

A topic with an invalid znode is logged and left out: reassignd does not lead, move or write any of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from backends.zookeeper.session.tree import Create, Delete, Operation, Set, Tree, Znode
from backends.zookeeper.store.records import REDO, REDO_COMPLETE, RecordChunks, chunk_parents, decode_chunks
from backends.zookeeper.store.transaction import resource_of
from backends.zookeeper.store.znode_cache import (
    NO_PARENTS,
    NO_STATE,
    StoredConfig,
    StoredTopic,
    ZnodeCache,
    new_partition,
)
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, ZnodeError
from backends.zookeeper.znodes.formats import (
    StateZnode,
    TopicZnode,
    decode_config,
    decode_state,
    decode_topic,
)
from controller.cluster.external_changes import understood
from controller.model.cluster import (
    NO_ID,
    Change,
    Config,
    ControllerEpoch,
    Partition,
    Reassignment,
    Record,
    Topic,
    TopicPartition,
)

CONCURRENCY = 50
"""Topics, or other items, that are read at the same time."""

CONFIG_PARENTS = ("/config/topics", "/config/brokers")

T = TypeVar("T")
R = TypeVar("R")


class Loaded:
    """The content of ZooKeeper at the start of a term.

    `cache` and `chunks` stay up to date during the term.
    """

    def __init__(self, rejections: Rejections) -> None:
        self.rejections = rejections
        self.cache = ZnodeCache()
        self.chunks = RecordChunks()

    def records(self, epoch: int) -> Iterator[Record]:
        """Yield all records in the order of `Store.load`.

        `epoch` is this term's; the controller adds 1 when it starts.
        """
        yield ControllerEpoch(epoch - 1)
        topics = self.cache.topics
        for name, topic in topics.items():
            yield Topic(name, topic.id, topic.deletable)
            yield from topic.partitions
        for entity, config in self.cache.configs.items():
            resource = resource_of(entity)
            if resource is not None:
                values = understood(resource[0], config.values)
                yield from (Config(*resource, key, value) for key, value in values.items())
        yield from self.chunks.records()
        yield from self._external_reassignments()

    def assign_topic_ids(self, new_id: Callable[[], bytes]) -> list[Change]:
        """Return the changes that give ids to topics without one (Kafka: KafkaController.setTopicIds)."""
        topics = self.cache.topics.items()
        return [Topic(name, new_id(), each.deletable) for name, each in topics if each.id == NO_ID]

    def _external_reassignments(self) -> Iterator[Reassignment]:
        """Yield the reassignments that a Kafka controller has begun.

        Their step in flight is all that is known.
        """
        recorded = {record.key for record in self.chunks.records() if isinstance(record, Reassignment)}
        for name, topic in self.cache.topics.items():
            for partition in topic.partitions:
                if partition.moving and partition.key not in recorded:
                    yield Reassignment(name, partition.partition, partition.current, partition.next)

    async def read_config(self, tree: Tree, path: str) -> None:
        """Read an entity's configs again.

        Invalid data is ignored: the next change overwrites it with the cached values.
        """
        entity = path.removeprefix("/config/")
        znode = await tree.get(path)
        if znode is None:
            self.cache.configs.pop(entity, None)
            return
        cached = self.cache.configs.get(entity)
        stored = StoredConfig(znode.version, {} if cached is None else cached.values)
        with self.rejections.skip_invalid(path, znode.mzxid):
            stored.values = decode_config(znode.data)
        self.cache.configs[entity] = stored

    async def read_topic(self, tree: Tree, name: str) -> bool:
        """Read a topic's znode again, and which of its partitions have znodes.

        Return False if it does not exist.

        Invalid data is ignored: the next change overwrites it with the cached assignment.
        """
        znode = await tree.get(paths.topic(name))
        if znode is None:
            return False
        stored = self.cache.topics[name]
        stored.version = max(znode.version, stored.version)
        with self.rejections.skip_invalid(paths.topic(name), znode.mzxid):
            self.cache.observe_topic(name, complete_topic(znode.data), znode.version)
        stored.parents = await _count_parents(tree, name)
        return True

    async def read_partitions(self, tree: Tree, keys: Sequence[TopicPartition]) -> list[Partition]:
        """Read the states of partitions again; return those that are newer than the cache.

        Invalid data is ignored: the next change overwrites it with the cached state.
        """
        cached = [key for key in keys if self.cache.partition(key) is not None]
        znodes = await tree.get_all([paths.state(*key) for key in cached])
        observed = (
            self._observe(key, znode) for key, znode in zip(cached, znodes, strict=True) if znode is not None
        )
        return [each for each in observed if each is not None]

    def _observe(self, key: TopicPartition, znode: Znode) -> Partition | None:
        cached = self.cache.partition(key)
        if cached is None:
            return None
        state = StateZnode(cached.leader, cached.leader_epoch, cached.isr, 0)
        with self.rejections.skip_invalid(paths.state(*key), znode.mzxid):
            state = decode_state(znode.data)
        return self.cache.observe_state(key, state, znode.version)


async def load(tree: Tree, rejections: Rejections | None = None, own_id: int | None = None) -> Loaded:
    """Load all znodes.

    New partitions with a replica on `own_id`, which is no broker, are left out: the observer assigns brokers
    to them. Raises ZookeeperError; ZnodeError when reassignd's own records are invalid.
    """
    loaded = Loaded(Rejections() if rejections is None else rejections)
    await _finish_redo(tree)
    names, to_delete, *entities = await asyncio.gather(
        *(_children(tree, path) for path in (paths.TOPICS, paths.DELETE_TOPICS, *CONFIG_PARENTS))
    )
    await _map(names, partial(_load_topic, tree, loaded, own_id))
    for name in to_delete:
        if name in loaded.cache.topics:
            loaded.cache.topics[name].deletable = True
    configs = [
        f"{parent}/{name}" for parent, names in zip(CONFIG_PARENTS, entities, strict=True) for name in names
    ]
    await _map(configs, partial(loaded.read_config, tree))
    await _load_chunks(tree, loaded.chunks)
    return loaded


async def _load_chunks(tree: Tree, chunks: RecordChunks) -> None:
    """Load reassignd's own records, chunk by chunk in order."""
    parents = list(chunk_parents())
    numbers = await asyncio.gather(*(_children(tree, parent) for parent in parents))
    chunk_paths = [
        f"{parent}/{name}" for parent, names in zip(parents, numbers, strict=True) for name in sorted(names)
    ]
    for path, znode in zip(chunk_paths, await _map(chunk_paths, tree.get), strict=True):
        if znode is None:
            continue
        try:
            chunks.read(path, znode.data)
        except ZnodeError as error:
            reason = f"{path}: {error}; restore the znode, or delete it to lose its records"
            raise ZnodeError(reason) from error


async def _children(tree: Tree, path: str) -> list[str]:
    return await tree.children(path) or []


def complete_topic(data: bytes | None) -> TopicZnode:
    """Decode a topic's znode; require partitions from 0 without gaps, each with replicas.

    Raises ZnodeError.
    """
    topic = decode_topic(data)
    if sorted(topic.partitions) != list(range(len(topic.partitions))):
        raise ZnodeError("its partitions are not numbered from 0 without gaps")
    if not all(each.replicas for each in topic.partitions.values()):
        raise ZnodeError("it has a partition without replicas")
    return topic


async def read_new_topic(tree: Tree, name: str) -> StoredTopic | None:
    """Read a topic that is not cached, with its partitions' states; None if it does not exist.

    Raises ZnodeError.
    """
    znode = await tree.get(paths.topic(name))
    if znode is None:
        return None
    topic = complete_topic(znode.data)
    partitions = [new_partition(name, number, each) for number, each in topic.partitions.items()]
    stored = StoredTopic(znode.version, topic.id, partitions)
    states = await tree.get_all([paths.state(name, number) for number in topic.partitions])
    for number, state in enumerate(states):
        if state is not None:
            partitions[number] = _with_state(partitions[number], state)
    if any(each.partition_epoch == NO_STATE for each in partitions):
        stored.parents = await _count_parents(tree, name)
    else:
        stored.parents = len(partitions)
    return stored


async def _load_topic(tree: Tree, loaded: Loaded, own_id: int | None, name: str) -> None:
    try:
        stored = await read_new_topic(tree, name)
    except ZnodeError as error:
        loaded.rejections.reject(
            paths.topic(name), f"is left out, because a znode of the topic is invalid: {error}"
        )
        return
    if stored is None:
        return
    unplaced = _first_unplaced(stored, own_id)
    del stored.partitions[unplaced:]
    if unplaced:
        loaded.cache.topics[name] = stored


def _first_unplaced(stored: StoredTopic, own_id: int | None) -> int:
    """Return the first new partition with a replica on `own_id`, or the number of partitions."""
    partitions = stored.partitions
    with_state = max((p.partition + 1 for p in partitions if p.partition_epoch != NO_STATE), default=0)
    unplaced = (p.partition for p in partitions[with_state:] if own_id in p.replicas)
    return next(unplaced, len(partitions))


def _with_state(partition: Partition, znode: Znode) -> Partition:
    state = decode_state(znode.data)
    if state.target and not partition.moving:
        # A draft of KIP-455 kept the target in the state znode.
        adding = tuple(r for r in state.target if r not in partition.replicas)
        removing = tuple(r for r in partition.replicas if r not in state.target)
        partition = partition._replace(replicas=(*state.target, *removing), adding=adding, removing=removing)
    return partition._replace(
        isr=state.isr,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=znode.version,
    )


async def _finish_redo(tree: Tree) -> None:
    """Repeat a large write that is complete in the redo log; discard one that is not.

    It is called only after a won election.

    Without the marker, the write was never acknowledged and has changed nothing. With it, some of its chunks
    may have been written. Writing all of them again is idempotent.
    """
    names = sorted(await tree.children(REDO) or [])
    marker = REDO_COMPLETE.removeprefix(f"{REDO}/")
    if marker in names:
        for name in names:
            znode = await tree.get(f"{REDO}/{name}")
            if name != marker and znode is not None:
                for path, data in decode_chunks(znode.data).items():
                    await _rewrite(tree, path, data)
    if names:
        await tree.multi([Delete(f"{REDO}/{name}") for name in reversed(names)])


async def _rewrite(tree: Tree, path: str, data: bytes | None) -> None:
    znode = await tree.get(path)
    operations: list[Operation] = []
    if data is None:
        operations = [] if znode is None else [Delete(path, znode.version)]
    else:
        operations = [Create(path, data) if znode is None else Set(path, data, znode.version)]
    await tree.multi(operations)


async def _map(items: Iterable[T], read: Callable[[T], Awaitable[R]]) -> list[R]:
    """Read the items, CONCURRENCY at a time; return the results in order."""
    limit = asyncio.Semaphore(CONCURRENCY)

    async def read_one(item: T) -> R:
        async with limit:
            return await read(item)

    return await asyncio.gather(*(read_one(item) for item in items))


async def _count_parents(tree: Tree, topic: str) -> int:
    """Return how many partitions have a znode, counted from 0.

    NO_PARENTS if the parent of them is missing.
    """
    names = await tree.children(paths.partitions(topic))
    if names is None:
        return NO_PARENTS
    existing = set(names)
    return next(number for number in range(len(existing) + 1) if str(number) not in existing)
