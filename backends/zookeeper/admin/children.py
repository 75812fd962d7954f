"""The earlier draft of KIP-236: `/admin/reassignments/TOPIC/PARTITION`, one znode for each reassignment.

The data is the target, `[10,11,15]`. Creating a child orders a reassignment, and changing it orders another
target. The child is deleted when the partition is at its target. The czxid of a child identifies the
reassignment; its mzxid changes with the target.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.orders import Entry
from backends.zookeeper.session.tree import (
    ANY,
    ConflictError,
    Create,
    Delete,
    Operation,
    Set,
    Tree,
    Watch,
    WatchLoop,
    Znode,
)
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, ZnodeError, encode, ids, numbered
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)

BATCH = 100
"""Children that are written in one multi."""


class ReassignmentChildren:
    """Keeps the children and the controller's reassignments equal, in both directions, for one term.

    The owner of the watch loop calls `synchronize` after each round.
    """

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
        """The children that exist, as they were read or written last."""
        self._handled: dict[TopicPartition, bytes | None] = {}
        """By child: the data that this term has written, or has accepted as an order."""
        self._topics: set[str] = set()
        """Topics whose znode exists under `/admin/reassignments`."""
        self._first_round = True

    def start(self) -> None:
        """Watch all children."""
        self._watch_loop.add(paths.REASSIGNMENTS, self._read_topics)

    async def synchronize(self) -> None:
        """Order what others wrote, unless reassignments are halted.

        Then write the controller's reassignments.

        Does nothing while reads are due: the list of children is not complete then. Raises ConflictError.
        """
        if not self._watch_loop.idle:
            return
        if not self._state.backlog.halted:
            await self._order(list(self._new_entries()))
            self._first_round = False
        changes = self._pending_writes()
        while batch := list(islice(changes, BATCH)):
            await self._write(batch)
        await self._delete_empty_topics()

    # ---- reads ---------------------------------------------------------------------------------------------

    async def _read_topics(self, watch: Watch) -> None:
        for topic in await self._tree.children(paths.REASSIGNMENTS, watch) or []:
            self._topics.add(topic)
            self._watch_loop.add(topic_path(topic), partial(self._read_topic, topic))

    async def _read_topic(self, topic: str, watch: Watch) -> None:
        path = topic_path(topic)
        names = await self._tree.children(path, watch)
        if names is None:
            self._watch_loop.drop(path)
            self._topics.discard(topic)
        for name in names or []:
            partition = numbered(name)
            with self._rejections.skip_invalid(f"{path}/{name}"):
                if partition is None:
                    raise ZnodeError(f"{name} is not a partition number")
                key = TopicPartition(topic, partition)
                self._watch_loop.add(child_path(key), partial(self._read_child, key))

    async def _read_child(self, key: TopicPartition, watch: Watch) -> None:
        znode = await self._tree.get(child_path(key), watch)
        if znode is None:
            self._watch_loop.drop(child_path(key))
            self._seen.pop(key, None)
        else:
            self._seen[key] = znode

    # ---- orders --------------------------------------------------------------------------------------------

    def _new_entries(self) -> Iterator[Entry]:
        """Yield the targets that others wrote, each once."""
        for key, znode in self._seen.items():
            if key in self._handled and self._handled[key] == znode.data:
                continue
            self._handled[key] = znode.data
            with self._rejections.skip_invalid(child_path(key), znode.mzxid):
                target = decode_child(znode.data)
                # A new controller does not know who wrote a child. One that agrees with the records is no new
                # order.
                if not self._first_round or target != self._recorded_target(key):
                    yield Entry(*key, target)

    def _recorded_target(self, key: TopicPartition) -> Replicas | None:
        """Return the target that the last controller would have written.

        A completed reassignment's child may still exist: its target is the current replica list.
        """
        reassignment = self._state.orders.reassignments.get(key)
        partition = self._state.cluster.partition(*key)
        return reassignment.target if reassignment else partition and partition.replicas

    async def _order(self, entries: Sequence[Entry]) -> None:
        if entries:
            log.info("%d reassignments ordered in %s", len(entries), paths.REASSIGNMENTS)
            reply = await self._submit(orders.alter_event(entries, paths.REASSIGNMENTS))
            for key, outcome in orders.rejected_rows(reply):
                self._rejections.reject(child_path(key), f"is dropped: {outcome.text}")

    # ---- writes --------------------------------------------------------------------------------------------

    def _pending_writes(self) -> Iterator[tuple[TopicPartition, bytes | None]]:
        """Yield the children that differ from the controller's reassignments, with the data to write.

        None as the data deletes the child.

        While reassignments are halted, new orders of others are not accepted, so their children stay as they
        are.
        """
        halted = self._state.backlog.halted
        reassignments = self._state.orders.reassignments
        for key in [key for key in self._seen if key not in reassignments]:
            if not halted or key in self._handled:
                yield key, None
        for key, reassignment in list(reassignments.items()):
            data = encode(reassignment.target)
            seen = self._seen.get(key)
            if seen is None or (seen.data != data and (not halted or key in self._handled)):
                yield key, data

    async def _write(self, changes: Sequence[tuple[TopicPartition, bytes | None]]) -> None:
        topics = dict.fromkeys(key.topic for key, data in changes if data is not None)
        created = [topic for topic in topics if topic not in self._topics]
        operations: list[Operation] = [Create(topic_path(topic)) for topic in created]
        operations += [self._operation(key, data) for key, data in changes]
        try:
            await self._store.write(operations)
        except ConflictError:
            self._read_again([key for key, _ in changes])
            raise
        self._topics.update(created)
        for key, data in changes:
            self._note_written(key, data)

    def _operation(self, key: TopicPartition, data: bytes | None) -> Operation:
        seen = self._seen.get(key)
        if data is None:
            return Delete(child_path(key), seen.version if seen else ANY)
        return Create(child_path(key), data) if seen is None else Set(child_path(key), data, seen.version)

    def _read_again(self, keys: Sequence[TopicPartition]) -> None:
        self._watch_loop.schedule(paths.REASSIGNMENTS)
        for topic in {key.topic for key in keys}:
            self._watch_loop.schedule(topic_path(topic))
        for key in keys:
            self._watch_loop.schedule(child_path(key))

    def _note_written(self, key: TopicPartition, data: bytes | None) -> None:
        """Record what was written, until the watch of the write leads to a new read."""
        if data is None:
            self._seen.pop(key, None)
            self._handled.pop(key, None)
            return
        if key in self._handled and key not in self._seen:
            log.warning("%s was deleted during its reassignment; it is created again", child_path(key))
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = Znode(data, 0, 0)
        else:
            self._seen[key] = seen._replace(data=data, version=seen.version + 1)
        self._handled[key] = data

    async def _delete_empty_topics(self) -> None:
        for topic in self._topics - {key.topic for key in self._seen}:
            try:
                await self._store.write([Delete(topic_path(topic))])
            except ConflictError:
                log.debug("%s has children, or does not exist", topic_path(topic))
            else:
                self._watch_loop.drop(topic_path(topic))
                self._topics.discard(topic)


def topic_path(topic: str) -> str:
    """Return the path of the parent of a topic's children."""
    return f"{paths.REASSIGNMENTS}/{topic}"


def child_path(key: TopicPartition) -> str:
    """Return the path of a partition's child."""
    return f"{paths.REASSIGNMENTS}/{key.topic}/{key.partition}"


def decode_child(data: bytes | None) -> Replicas:
    """Return the target. Raises ZnodeError."""
    try:
        value = json.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise ZnodeError("it is not JSON") from error
    return ids(value, "it")
