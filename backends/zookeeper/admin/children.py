"""KIP-236's earlier draft: `/admin/reassignments/TOPIC/PARTITION`, one child for each partition that is being reassigned.

Its content is the target, `[10,11,15]`. Who makes a child orders a reassignment, who changes one retargets it; it goes
when the partition is there. Its czxid is the identity of the reassignment, its mzxid tells that it was changed.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.plans import Entry
from backends.zookeeper.session.tree import ConflictError, Create, Delete, Operation, Set, Tree, Watch, Znode
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.term.watch_loop import WatchLoop
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, encode, ids, numbered
from backends.zookeeper.znodes.rejections import Rejections
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)

AT_ONCE = 100
"""Children that are written in one multi."""


class Children:
    """Keeps children and reassignments in step, in both directions. `act` is called after each round of looks."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        state: State,
        submit: SubmitEvent,
        watch_loop: WatchLoop,
        rejections: Rejections,
    ) -> None:
        self._tree, self._store, self._state, self._submit = tree, store, state, submit
        self._watch_loop, self._rejections = watch_loop, rejections
        self._seen: dict[TopicPartition, Znode] = {}
        self._known: dict[TopicPartition, bytes | None] = {}
        """The content that we wrote or took."""
        self._folders: set[str] = set()
        self._first = True

    def start(self) -> None:
        """Look at all children."""
        self._watch_loop.set(paths.REASSIGNMENTS, self._look_at_topics)

    async def act(self) -> None:
        """Order what others wrote, unless nothing may start; then write what is being reassigned. Raises ConflictError."""
        if not self._watch_loop.settled:
            return
        if not self._state.backlog.halted:
            await self._order(list(self._news()))
            self._first = False
        changes = self._changes()
        while batch := list(islice(changes, AT_ONCE)):
            await self._write(batch)
        await self._clear_away()

    # ---- looks ------------------------------------------------------------------------------------------------

    async def _look_at_topics(self, watch: Watch) -> None:
        for topic in await self._tree.children(paths.REASSIGNMENTS, watch) or []:
            path = f"{paths.REASSIGNMENTS}/{topic}"
            self._folders.add(topic)
            self._watch_loop.set(path, partial(self._look_at_topic, topic))

    async def _look_at_topic(self, topic: str, watch: Watch) -> None:
        path = f"{paths.REASSIGNMENTS}/{topic}"
        names = await self._tree.children(path, watch)
        if names is None:
            self._watch_loop.drop(path)
            self._folders.discard(topic)
        for name in names or []:
            partition = numbered(name)
            with self._rejections.skip_invalid(f"{path}/{name}"):
                if partition is None:
                    raise ZnodeError(f"{name} is not a partition")
                key = TopicPartition(topic, partition)
                self._watch_loop.set(f"{path}/{name}", partial(self._look_at, key))

    async def _look_at(self, key: TopicPartition, watch: Watch) -> None:
        znode = await self._tree.get(path_of(key), watch)
        if znode is None:
            self._watch_loop.drop(path_of(key))
            self._seen.pop(key, None)
        else:
            self._seen[key] = znode

    # ---- orders -----------------------------------------------------------------------------------------------

    def _news(self) -> Iterator[Entry]:
        """Targets that others wrote."""
        for key, znode in self._seen.items():
            if key in self._known and self._known[key] == znode.data:
                continue
            self._known[key] = znode.data
            with self._rejections.skip_invalid(path_of(key), znode.mzxid):
                target = decode_child(znode.data)
                if not self._first or target != self._expected(key):
                    yield Entry(*key, target)

    def _expected(self, key: TopicPartition) -> Replicas | None:
        """What a child that was written by us says at take-over; it may be one that should have gone."""
        wanted = self._state.reassignments.get(key)
        partition = self._state.partition(*key)
        return wanted.target if wanted else partition and partition.replicas

    async def _order(self, entries: Sequence[Entry]) -> None:
        if entries:
            log.info("%d partitions are to be reassigned, ordered in %s", len(entries), paths.REASSIGNMENTS)
            reply = await self._submit(orders.order(entries, paths.REASSIGNMENTS))
            for key, outcome in orders.refusals(reply):
                self._rejections.reject(path_of(key), f"is dropped: {outcome.text}")

    # ---- what is shown ----------------------------------------------------------------------------------------

    def _changes(self) -> Iterator[tuple[TopicPartition, bytes | None]]:
        """Children that are not as they should be, and how they should be."""
        halted = self._state.backlog.halted
        wanted = self._state.reassignments
        for key in [key for key in self._seen if key not in wanted]:
            if not halted or key in self._known:
                yield key, None
        for key, each in list(wanted.items()):
            data = encode(each.target)
            seen = self._seen.get(key)
            if seen is None or (seen.data != data and (not halted or key in self._known)):
                yield key, data

    async def _write(self, changes: Sequence[tuple[TopicPartition, bytes | None]]) -> None:
        operations: list[Operation] = []
        folders = dict.fromkeys(key.topic for key, data in changes if data is not None)
        made = [topic for topic in folders if topic not in self._folders]
        operations += [Create(f"{paths.REASSIGNMENTS}/{topic}") for topic in made]
        for key, data in changes:
            seen = self._seen.get(key)
            if data is None:
                operations.append(Delete(path_of(key), seen.version if seen else -1))
            elif seen is None:
                operations.append(Create(path_of(key), data))
            else:
                operations.append(Set(path_of(key), data, seen.version))
        try:
            await self._store.write(operations)
        except ConflictError:
            for topic in {key.topic for key, _ in changes}:
                self._watch_loop.again(f"{paths.REASSIGNMENTS}/{topic}")
            for key, _ in changes:
                self._watch_loop.again(path_of(key))
            self._watch_loop.again(paths.REASSIGNMENTS)
            raise
        self._folders.update(made)
        for key, data in changes:
            self._note(key, data)

    def _note(self, key: TopicPartition, data: bytes | None) -> None:
        """The child is so now; it is read again soon."""
        if data is None:
            self._seen.pop(key, None)
            self._known.pop(key, None)
            return
        if key in self._known and key not in self._seen:
            log.warning(
                "%s was removed, and is written again: the partition is being reassigned", path_of(key)
            )
        seen = self._seen.get(key)
        self._seen[key] = (
            Znode(data, 0, 0) if seen is None else seen._replace(data=data, version=seen.version + 1)
        )
        self._known[key] = data

    async def _clear_away(self) -> None:
        """Topics without children go."""
        for topic in self._folders - {key.topic for key in self._seen}:
            try:
                await self._store.write([Delete(f"{paths.REASSIGNMENTS}/{topic}")])
            except ConflictError:
                log.debug("%s/%s is not empty, or gone", paths.REASSIGNMENTS, topic)
            else:
                self._watch_loop.drop(f"{paths.REASSIGNMENTS}/{topic}")
                self._folders.discard(topic)


def path_of(key: TopicPartition) -> str:
    """A partition's child."""
    return f"{paths.REASSIGNMENTS}/{key.topic}/{key.partition}"


def decode_child(data: bytes | None) -> Replicas:
    """The target. Raises ZnodeError."""
    try:
        value = json.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise ZnodeError("it is not JSON") from error
    return ids(value, "it")
