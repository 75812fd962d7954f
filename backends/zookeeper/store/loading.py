"""Everything read at take-over, many znodes at a time; and single znodes read again later.

A topic whose znodes make no sense is left alone, with a line in the log: nothing of it is led, moved or written by us.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from backends.zookeeper.session.tree import Create, Delete, Operation, Set, Tree, Znode
from backends.zookeeper.store.record_chunks import RecordChunks, chunk_parents, decode_image
from backends.zookeeper.store.transaction import resource_of
from backends.zookeeper.store.znode_cache import (
    NO_FOLDERS,
    NO_STATE,
    StoredConfig,
    StoredTopic,
    ZnodeCache,
    bare,
)
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import (
    StateZnode,
    TopicZnode,
    decode_config,
    decode_state,
    decode_topic,
)
from backends.zookeeper.znodes.rejections import Rejections
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

AT_ONCE = 50
"""Topics, or other things, that are read at the same time."""

ENTITIES = ("/config/topics", "/config/brokers")
"""Parents of what has configs."""

T = TypeVar("T")
R = TypeVar("R")


class Loaded:
    """What a term begins with."""

    def __init__(self, rejections: Rejections) -> None:
        self.rejections = rejections
        self.cache = ZnodeCache()
        self.chunks = RecordChunks()

    def records(self, epoch: int) -> Iterator[Record]:
        """In the order that `Store.load` promises. The core counts the epoch up when it starts."""
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
        yield from self._adopted()

    def assign_topic_ids(self, new_id: Callable[[], bytes]) -> list[Change]:
        """Topics that were made before the brokers knew of topic ids, with ids (Kafka: KafkaController.setTopicIds)."""
        topics = self.cache.topics.items()
        return [Topic(name, new_id(), each.deletable) for name, each in topics if each.id == NO_ID]

    def _adopted(self) -> Iterator[Reassignment]:
        """What another controller began: the step in flight is all that is known of it."""
        known = {record.key for record in self.chunks.records() if isinstance(record, Reassignment)}
        for name, topic in self.cache.topics.items():
            for partition in topic.partitions:
                if partition.moving and partition.key not in known:
                    yield Reassignment(name, partition.partition, partition.current, partition.next)

    async def read_config(self, tree: Tree, path: str) -> None:
        """Read one entity's values again; those that make no sense are as they were, and written over by the next change."""
        entity = path.removeprefix("/config/")
        znode = await tree.get(path)
        if znode is None:
            self.cache.configs.pop(entity, None)
            return
        known = self.cache.configs.get(entity)
        stored = StoredConfig(znode.version, {} if known is None else known.values)
        with self.rejections.skip_invalid(path, znode.mzxid):
            stored.values = decode_config(znode.data)
        self.cache.configs[entity] = stored

    async def read_topic(self, tree: Tree, name: str) -> bool:
        """Read a topic's znode again, and which of its partitions have folders; False when it is gone.

        What makes no sense is written over: what is known of the topic is ours to say.
        """
        znode = await tree.get(paths.topic(name))
        if znode is None:
            return False
        stored = self.cache.topics[name]
        stored.version = max(znode.version, stored.version)
        with self.rejections.skip_invalid(paths.topic(name), znode.mzxid):
            self.cache.observe_topic(name, whole_topic(znode.data), znode.version)
        numbers = await tree.children(paths.partitions(name))
        stored.folders = NO_FOLDERS if numbers is None else _run(numbers)
        return True

    async def read_partitions(self, tree: Tree, keys: Sequence[TopicPartition]) -> list[Partition]:
        """Read the states of partitions again; those that are news. What makes no sense is written over likewise."""
        known = [key for key in keys if self.cache.partition(key) is not None]
        znodes = await tree.get_all([paths.state(*key) for key in known])
        seen = (
            self._observed(key, znode) for key, znode in zip(known, znodes, strict=True) if znode is not None
        )
        return [each for each in seen if each is not None]

    def _observed(self, key: TopicPartition, znode: Znode) -> Partition | None:
        known = self.cache.partition(key)
        if known is None:
            return None
        state = StateZnode(known.leader, known.leader_epoch, known.isr, 0)
        with self.rejections.skip_invalid(paths.state(*key), znode.mzxid):
            state = decode_state(znode.data)
        return self.cache.observe_state(key, state, znode.version)


async def load(tree: Tree, rejections: Rejections | None = None, own_id: int | None = None) -> Loaded:
    """Read all there is. New partitions with a replica on `own_id` are left out: they are to be placed first. Raises ZookeeperError; ZnodeError when it is our own records that make no sense."""
    loaded = Loaded(Rejections() if rejections is None else rejections)
    await _finish_redo(tree)
    names, doomed, *entities = await asyncio.gather(
        *(_children(tree, path) for path in (paths.TOPICS, paths.DELETE_TOPICS, *ENTITIES))
    )
    await _all(names, partial(_load_topic, tree, loaded, own_id))
    for name in doomed:
        if name in loaded.cache.topics:
            loaded.cache.topics[name].deletable = True
    configs = [f"{above}/{name}" for above, kind in zip(ENTITIES, entities, strict=True) for name in kind]
    await _all(configs, partial(loaded.read_config, tree))
    await _load_ledger(tree, loaded.chunks)
    return loaded


async def _load_ledger(tree: Tree, chunks: RecordChunks) -> None:
    names = await asyncio.gather(*(_children(tree, folder) for folder in chunk_parents()))
    chunk_paths = [
        f"{above}/{name}" for above, kind in zip(chunk_parents(), names, strict=True) for name in sorted(kind)
    ]
    for path, znode in zip(chunk_paths, await _all(chunk_paths, tree.get), strict=True):
        if znode is not None:
            _read_chunk(chunks, path, znode)


async def _children(tree: Tree, path: str) -> list[str]:
    return await tree.children(path) or []


def whole_topic(data: bytes | None) -> TopicZnode:
    """A topic all of whose partitions are there. Raises ZnodeError."""
    topic = decode_topic(data)
    if sorted(topic.partitions) != list(range(len(topic.partitions))):
        raise ZnodeError("its partitions are not numbered from 0 without gaps")
    if not all(each.replicas for each in topic.partitions.values()):
        raise ZnodeError("it has a partition without replicas")
    return topic


async def read_new_topic(tree: Tree, name: str) -> StoredTopic | None:
    """A topic that is not known, with the states of its partitions; None when it is gone. Raises ZnodeError."""
    znode = await tree.get(paths.topic(name))
    if znode is None:
        return None
    topic = whole_topic(znode.data)
    stored = StoredTopic(znode.version, topic.id, [bare(name, n, a) for n, a in topic.partitions.items()])
    states = await tree.get_all([paths.state(name, number) for number in topic.partitions])
    for number, state in enumerate(states):
        if state is not None:
            stored.partitions[number] = _with_state(stored.partitions[number], state)
    if any(each.partition_epoch == NO_STATE for each in stored.partitions):
        numbers = await tree.children(paths.partitions(name))
        stored.folders = NO_FOLDERS if numbers is None else _run(numbers)
    else:
        stored.folders = len(stored.partitions)
    return stored


def _read_chunk(chunks: RecordChunks, path: str, znode: Znode) -> None:
    try:
        chunks.read(path, znode.data)
    except ZnodeError as error:
        raise ZnodeError(f"{path}: {error}; restore it, or remove it to forget what it held") from error


async def _load_topic(tree: Tree, loaded: Loaded, own_id: int | None, name: str) -> None:
    try:
        stored = await read_new_topic(tree, name)
    except ZnodeError as error:
        loaded.rejections.reject(
            paths.topic(name), f"is left alone, a znode of the topic makes no sense: {error}"
        )
        return
    if stored is None:
        return
    unplaced = _first_unplaced(stored, own_id)
    del stored.partitions[unplaced:]
    if unplaced:
        loaded.cache.topics[name] = stored


def _first_unplaced(stored: StoredTopic, own_id: int | None) -> int:
    """The number of the first new partition that names us, or of the partition after the last."""
    partitions = stored.partitions
    with_state = max((p.partition + 1 for p in partitions if p.partition_epoch != NO_STATE), default=0)
    later = (p.partition for p in partitions[with_state:] if own_id in p.replicas)
    return next(later, len(partitions))


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
    """Write again what was complete, and forget what was not. The caller has won the election."""
    redo = f"{paths.OURS}/redo"
    names = sorted(await tree.children(redo) or [])
    if "complete" in names:
        for name in names:
            znode = await tree.get(f"{redo}/{name}")
            if name != "complete" and znode is not None:
                for path, data in decode_image(znode.data).items():
                    await _rewrite(tree, path, data)
    if names:
        await tree.multi([Delete(f"{redo}/{name}") for name in reversed(names)])


async def _rewrite(tree: Tree, path: str, data: bytes | None) -> None:
    there = await tree.get(path)
    operations: list[Operation] = []
    if data is None:
        operations = [] if there is None else [Delete(path, there.version)]
    else:
        operations = [Create(path, data) if there is None else Set(path, data, there.version)]
    await tree.multi(operations)


async def _all(items: Iterable[T], read: Callable[[T], Awaitable[R]]) -> list[R]:
    """Read them, AT_ONCE at a time; the results in order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(item: T) -> R:
        async with places:
            return await read(item)

    return await asyncio.gather(*(one(item) for item in items))


def _run(numbers: Sequence[str]) -> int:
    """How many of 0, 1, 2, … are there."""
    there = set(numbers)
    return next(n for n in range(len(there) + 1) if str(n) not in there)
