"""Records as znodes: Kafka's own are the truth about partitions, ours are beside them in chunks.

Everything is written in multis that check the version of `/controller_epoch`: a deposed controller changes nothing. A
commit that fits in one multi is made by it alone. Of a larger one, our records come first: their new chunks are laid down
under `/reassignd/redo`, a marker says that they are complete, and only then do they replace what was there; whoever takes
over finishes that, or drops what has no marker. Kafka's znodes follow in multis of their own, each leaving every partition
in an order that the next controller can go on from.

When a write does not fit what is there (brokers before inter-broker protocol 2.7 store ISRs themselves), the znodes
concerned are read again and the write is made anew; see `backends.zookeeper.store.znode_cache.merge`.
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
from backends.zookeeper.store.record_chunks import Image, RecordChunks, encode_image
from backends.zookeeper.store.transaction import ZnodeTransaction
from backends.zookeeper.store.znode_cache import StaleError, ZnodeCache
from backends.zookeeper.znodes import paths
from common.tasks import cancel, spawn
from controller.messages.effects import DropReplica
from controller.model.cluster import Change, Partition, Record, TopicPartition

log = logging.getLogger(__name__)

TRIES = 20

REDO = f"{paths.OURS}/redo"
MARKER = f"{REDO}/complete"


class DeposedError(ZookeeperError):
    """Another controller was elected; nothing more can be written."""


class Term(NamedTuple):
    """A controller's time: the epoch that it won, and the version of `/controller_epoch` that goes with it."""

    epoch: int
    version: int

    @property
    def check(self) -> Operation:
        """Fails in a multi once the time is over."""
        return Check(paths.CONTROLLER_EPOCH, self.version)


class _Waiting(NamedTuple):
    changes: Sequence[Change]
    done: asyncio.Future[None]


class ZkStore:
    """Implements `controller.ports.Store` for one term.

    `on_written` is told that something was stored, `on_merged` what was stored otherwise than decided.
    """

    def __init__(self, tree: Tree, term: Term, loaded: Loaded, *, with_topic_ids: bool) -> None:
        self.cache: ZnodeCache = loaded.cache
        self.on_merged: Callable[[Sequence[Partition]], None] = lambda _partitions: None
        self.on_written: Callable[[], None] = lambda: None
        self._tree, self._term, self._with_ids = tree, term, with_topic_ids
        self._loaded = loaded
        self._chunks: RecordChunks = loaded.chunks
        self._drops = Drops(loaded.chunks, loaded.cache)
        self._shared: set[str] = set()
        """Entities that others changed since our last write of them, so that the core may not know what the next leaves."""
        self._untold: set[str] = set()
        """Those of them that were written; the notices of our own writes have them told."""
        self._waiting: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._failure: Exception | None = None
        self._task = spawn(self._run(), "zookeeper-store")

    def load(self) -> Iterator[Record]:
        """See `Store.load`."""
        return self._loaded.records(self._term.epoch)

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """See `Store.commit`. Fails with ZookeeperError or StaleError, and so do all commits after that."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            done.set_exception(self._failure)
        else:
            self._waiting.append(_Waiting(changes, done))
            self._wake.set()
        return done

    async def write(self, operations: Sequence[Operation]) -> None:
        """Znodes that are no records, for as long as this controller rules. Raises ConflictError or DeposedError."""
        await self._multi(operations)

    def dropped(self, brokers: AbstractSet[int]) -> list[DropReplica]:
        """Drops that these brokers have not confirmed."""
        return list(self._drops.of(brokers))

    def confirm(self, broker: int, drops: Sequence[DropReplica]) -> None:
        """The broker has deleted these. That is stored some time later: to tell it twice does no harm."""
        if self._drops.confirmed(broker, drops):
            self._wake.set()

    async def read_config(self, entity: str) -> dict[str, str] | None:
        """An entity's values when someone else has changed them since they were last told of here, or written by us alone."""
        before = self.cache.configs.get(entity)
        await self._loaded.read_config(self._tree, paths.config(entity))
        after = self.cache.configs.get(entity)
        untold = entity in self._untold
        self._untold.discard(entity)
        if before is not None and after is not None and after.version <= before.version and not untold:
            self.cache.configs[entity] = before
            return None
        if not untold:
            self._shared.add(entity)
        return {} if after is None else after.values

    async def read_partitions(self, keys: Sequence[TopicPartition]) -> list[Partition]:
        """Read the states of these partitions again; the partitions whose state is news."""
        return await self._loaded.read_partitions(self._tree, keys)

    async def close(self) -> None:
        """Write no more."""
        await cancel(self._task)
        self._fail(ZookeeperError("the store is closed"))

    def stored(self, decided: Partition) -> Partition:
        """The partition as brokers should be told of it: with the leader, the ISR and the version that were stored."""
        known = self.cache.partition(decided.key)
        if known is None or known.leader_epoch != decided.leader_epoch:
            return decided
        return decided._replace(leader=known.leader, isr=known.isr, partition_epoch=known.partition_epoch)

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting or self._chunks.dirty:
                    group = self._next_group()
                    await self._write([change for each in group for change in each.changes])
                    for each in group:
                        if not each.done.done():
                            each.done.set_result(None)
                        self._waiting.popleft()
                    self.on_written()
        except Exception as error:
            self._fail(error)
            if not isinstance(error, ZookeeperError | StaleError):
                raise

    def _next_group(self) -> list[_Waiting]:
        """As many as fit in one multi, at least one; they stay in the queue until they are written."""
        group: list[_Waiting] = []
        room = MultiSpace(self.cache)
        for waiting in self._waiting:
            fit = all(map(room.take, waiting.changes))
            if group and not fit:
                break
            group.append(waiting)
        return group

    def _fail(self, error: Exception) -> None:
        self._failure = error
        for each in self._waiting:
            if not each.done.done():
                each.done.set_exception(error)
        self._waiting.clear()

    async def _write(self, changes: Sequence[Change]) -> None:
        kafkas = [change for change in changes if not self._chunks.keeps(change)]
        for change in changes:
            if self._chunks.keeps(change):
                self._chunks.apply(change)
        self._drops.note(kafkas)
        image = self._chunks.changed()
        if fits(kafkas, image, self.cache):
            await self._write_batch(kafkas, image)
        else:
            await self._write_large(image)
            for batch in batched(kafkas, self.cache):
                await self._write_batch(batch, Image())

    async def _write_batch(self, changes: Sequence[Change], image: Image) -> None:
        """One multi."""
        for _ in range(TRIES):
            draft = ZnodeTransaction(self.cache, self._term.epoch, with_topic_ids=self._with_ids)
            draft.apply(changes)
            operations = [*self._chunks.operations(image), *draft.operations()]
            if not operations:
                return
            try:
                await self._multi(operations)
            except ConflictError as conflict:
                log.debug("written anew: %s", conflict)
                await self._refresh(draft, conflict)
                continue
            draft.adopt()
            self._chunks.written(image)
            self._untold |= self._shared & draft.entities
            self._shared -= draft.entities
            if draft.merged:
                self.on_merged(draft.merged)
            return
        raise ZookeeperError("znodes change faster than they can be written")

    async def _write_large(self, image: Image) -> None:
        """Our records, all or none."""
        pieces = list(pieces_of(image))
        if len(pieces) <= 1:
            await self._multi_of_ours(image)
            return
        made: list[Operation] = []
        for number, piece in enumerate(pieces):
            made.append(Create(f"{REDO}/{number:010d}", encode_image(piece)))
            await self._multi(made[-1:])
        await self._multi([Create(MARKER)])
        for piece in pieces:
            await self._multi_of_ours(piece)
        await self._multi([Delete(each.path) for each in (Create(MARKER), *made)])

    async def _multi_of_ours(self, image: Image) -> None:
        await self._multi(self._chunks.operations(image))
        self._chunks.written(image)

    async def _multi(self, operations: Sequence[Operation]) -> None:
        try:
            await self._tree.multi([self._term.check, *operations])
        except ConflictError as conflict:
            if conflict.operation == self._term.check:
                raise DeposedError("another controller was elected") from conflict
            raise

    async def _refresh(self, draft: ZnodeTransaction, conflict: ConflictError) -> None:
        """Read again what the draft was built on. Raises the conflict when that shows nothing that could help."""
        topic = conflict.operation.path.removeprefix(f"{paths.TOPICS}/").partition("/")[0]
        if topic in self.cache.topics and await self._loaded.read_topic(self._tree, topic):
            await self.read_partitions(draft.partitions)
        elif conflict.operation.path.startswith("/config/"):
            await self._loaded.read_config(self._tree, conflict.operation.path)
            self._shared.add(conflict.operation.path.removeprefix("/config/"))
        else:
            raise conflict
