"""The store of ZooKeeper mode.

Kafka's znodes hold topics, partitions and configs, chunks hold reassignd's own records.

Every multi checks the version of `/controller_epoch`, so a deposed controller cannot write.

A commit that fits into one multi is atomic. Of a larger one, reassignd's records are written first, through a
redo log: all new chunks are stored under `/reassignd/redo`, a marker declares them complete, and only then
are the chunks overwritten. The next controller repeats a complete log and discards one without the marker.
Kafka's znodes follow in several multis, each of which leaves every partition in a state that the next
controller can continue from.

A write conflicts when others have changed the znodes: brokers below inter-broker protocol 2.7 store ISRs, and
tools change topics and configs. Then the znodes are read again and the write is built again; see
`backends.zookeeper.store.znode_cache.merge`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from backends.zookeeper.session.tree import (
    Check,
    ConflictError,
    Create,
    Delete,
    Operation,
    Tree,
    ZookeeperError,
)
from backends.zookeeper.store.drops import Drops
from backends.zookeeper.store.loading import Loaded
from backends.zookeeper.store.multis import MultiSpace, batched, fits, pieces_of
from backends.zookeeper.store.records import REDO, REDO_COMPLETE, ChunkData, RecordChunks, encode_chunks
from backends.zookeeper.store.transaction import ZnodeTransaction
from backends.zookeeper.store.znode_cache import StaleError, ZnodeCache
from backends.zookeeper.znodes import paths
from common.tasks import cancel, spawn
from controller.messages.effects import DropReplica
from controller.model.cluster import Change, Partition, Record, TopicPartition

log = logging.getLogger(__name__)

ATTEMPTS = 20


class DeposedError(ZookeeperError):
    """Another controller was elected. Nothing more can be written in this term."""


class ElectedTerm(NamedTuple):
    """A controller's term: the epoch that it won, and the version of `/controller_epoch` for it."""

    epoch: int
    version: int

    @property
    def check(self) -> Operation:
        """An operation that fails when the term is over."""
        return Check(paths.CONTROLLER_EPOCH, self.version)


class _Commit(NamedTuple):
    changes: Sequence[Change]
    done: asyncio.Future[None]


class ZkStore:
    """Implements `controller.ports.Store` for one term.

    `on_written` is called after each write, `on_merged` with partitions that are not stored as decided.
    """

    def __init__(self, tree: Tree, term: ElectedTerm, loaded: Loaded, *, with_topic_ids: bool) -> None:
        self.cache: ZnodeCache = loaded.cache
        self.on_merged: Callable[[Sequence[Partition]], None] = lambda _partitions: None
        self.on_written: Callable[[], None] = lambda: None
        self._tree, self._term, self._with_ids = tree, term, with_topic_ids
        self._loaded = loaded
        self._chunks: RecordChunks = loaded.chunks
        self._drops = Drops(loaded.chunks, loaded.cache)
        self._externally_changed: set[str] = set()
        """Entities whose configs others have changed since our last write of them.

        Our next write merges both changes. The controller does not know the result until `read_config` has
        returned it.
        """
        self._merged_configs: set[str] = set()
        """Entities whose merged configs were written, and not yet returned by `read_config`."""
        self._commits: deque[_Commit] = deque()
        self._wake = asyncio.Event()
        self._failure: Exception | None = None
        self._task = spawn(self._run(), "zookeeper-store")

    def load(self) -> Iterator[Record]:
        """See `Store.load`."""
        return self._loaded.records(self._term.epoch)

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. Nothing is written before the commit."""

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """See `Store.commit`.

        After a failure (ZookeeperError, StaleError) all later commits fail with the same error.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            done.set_exception(self._failure)
        else:
            self._commits.append(_Commit(changes, done))
            self._wake.set()
        return done

    async def write(self, operations: Sequence[Operation]) -> None:
        """Write znodes that are no records, unless the term is over. Raises ConflictError, DeposedError."""
        try:
            await self._tree.multi([self._term.check, *operations])
        except ConflictError as conflict:
            if conflict.operation == self._term.check:
                raise DeposedError("another controller was elected") from conflict
            raise

    def dropped(self, brokers: AbstractSet[int]) -> list[DropReplica]:
        """Return the drops that these brokers have not confirmed."""
        return list(self._drops.of(brokers))

    def confirm(self, broker: int, drops: Sequence[DropReplica]) -> None:
        """Note that the broker has deleted these replicas.

        Losing the note in a crash is harmless: the drop is repeated.
        """
        if self._drops.confirmed(broker, drops):
            self._wake.set()

    async def read_config(self, entity: str) -> dict[str, str] | None:
        """Read an entity's configs; return None if the controller knows them already.

        The notifications of our own writes lead here too. They tell something new only if the write has
        merged a change of others.
        """
        before = self.cache.configs.get(entity)
        await self._loaded.read_config(self._tree, paths.config(entity))
        after = self.cache.configs.get(entity)
        merged = entity in self._merged_configs
        self._merged_configs.discard(entity)
        if before is not None and after is not None and after.version <= before.version and not merged:
            self.cache.configs[entity] = before
            return None
        if not merged:
            self._externally_changed.add(entity)
        return {} if after is None else after.values

    async def read_partitions(self, keys: Sequence[TopicPartition]) -> list[Partition]:
        """Read the states of partitions; return those that are newer than the cache."""
        return await self._loaded.read_partitions(self._tree, keys)

    async def close(self) -> None:
        """Stop writing; commits that are not written fail."""
        await cancel(self._task)
        self._fail(ZookeeperError("the store is closed"))

    def stored(self, decided: Partition) -> Partition:
        """Return the partition with the leader, the ISR and the version that are stored in ZooKeeper."""
        cached = self.cache.partition(decided.key)
        if cached is None or cached.leader_epoch != decided.leader_epoch:
            return decided
        return decided._replace(leader=cached.leader, isr=cached.isr, partition_epoch=cached.partition_epoch)

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._commits or self._chunks.changed:
                    group = self._next_group()
                    await self._write([change for each in group for change in each.changes])
                    for each in group:
                        if not each.done.done():
                            each.done.set_result(None)
                        self._commits.popleft()
                    self.on_written()
        except Exception as error:
            self._fail(error)
            if not isinstance(error, ZookeeperError | StaleError):
                raise

    def _next_group(self) -> list[_Commit]:
        """Return as many commits as fit into one multi, at least one.

        They stay in the queue until they are written.
        """
        group: list[_Commit] = []
        space = MultiSpace(self.cache)
        for commit in self._commits:
            fit = all(map(space.take, commit.changes))
            if group and not fit:
                break
            group.append(commit)
        return group

    def _fail(self, error: Exception) -> None:
        self._failure = error
        for each in self._commits:
            if not each.done.done():
                each.done.set_exception(error)
        self._commits.clear()

    async def _write(self, changes: Sequence[Change]) -> None:
        kafka_changes = [change for change in changes if not self._chunks.keeps(change)]
        for change in changes:
            if self._chunks.keeps(change):
                self._chunks.apply(change)
        self._drops.note(kafka_changes)
        chunks = self._chunks.take_changed()
        if fits(kafka_changes, chunks, self.cache):
            await self._write_batch(kafka_changes, chunks)
        else:
            await self._write_chunks(chunks)
            for batch in batched(kafka_changes, self.cache):
                await self._write_batch(batch, ChunkData())

    async def _write_batch(self, changes: Sequence[Change], chunks: ChunkData) -> None:
        """Write one multi. On a conflict, read again what has changed and build the multi again."""
        for _ in range(ATTEMPTS):
            transaction = ZnodeTransaction(self.cache, self._term.epoch, with_topic_ids=self._with_ids)
            transaction.apply(changes)
            operations = [*self._chunks.operations(chunks), *transaction.operations()]
            if not operations:
                return
            try:
                await self.write(operations)
            except ConflictError as conflict:
                log.debug("writing again after a conflict: %s", conflict)
                await self._refresh(transaction, conflict)
                continue
            transaction.adopt()
            self._chunks.written(chunks)
            self._merged_configs |= self._externally_changed & transaction.entities
            self._externally_changed -= transaction.entities
            if transaction.merged:
                self.on_merged(transaction.merged)
            return
        raise ZookeeperError(f"znodes were changed by others in {ATTEMPTS} attempts to write them")

    async def _write_chunks(self, chunks: ChunkData) -> None:
        """Write reassignd's records, all or none: in one multi, or through the redo log."""
        pieces = list(pieces_of(chunks))
        if len(pieces) <= 1:
            await self._write_piece(chunks)
            return
        log_paths = [f"{REDO}/{number:010d}" for number in range(len(pieces))]
        for path, piece in zip(log_paths, pieces, strict=True):
            await self.write([Create(path, encode_chunks(piece))])
        await self.write([Create(REDO_COMPLETE)])
        for piece in pieces:
            await self._write_piece(piece)
        await self.write([Delete(path) for path in (REDO_COMPLETE, *log_paths)])

    async def _write_piece(self, chunks: ChunkData) -> None:
        await self.write(self._chunks.operations(chunks))
        self._chunks.written(chunks)

    async def _refresh(self, transaction: ZnodeTransaction, conflict: ConflictError) -> None:
        """Read again what the transaction is based on.

        Raises the conflict if another attempt could not help.
        """
        topic = conflict.operation.path.removeprefix(f"{paths.TOPICS}/").partition("/")[0]
        if topic in self.cache.topics and await self._loaded.read_topic(self._tree, topic):
            await self.read_partitions(transaction.partitions)
        elif conflict.operation.path.startswith("/config/"):
            await self._loaded.read_config(self._tree, conflict.operation.path)
            self._externally_changed.add(conflict.operation.path.removeprefix("/config/"))
        else:
            raise conflict
