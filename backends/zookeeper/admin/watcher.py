"""Reassignments by znode: what people and tools write under `/admin` is ordered, and kept true (KIP-236, KIP-455).

`/admin/reassign_partitions` and its queue are taken when they are empty; from then on they are ours, and show what is
pending. A digest of what we wrote last is kept beside our records: at take-over it tells a document that was ordered from
one that was not, which counts before what was ordered through the API.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.children import Children
from backends.zookeeper.admin.plans import LIMIT_BYTES, Entry, decode_plan, fitting
from backends.zookeeper.session.tree import (
    ANY,
    ConflictError,
    Create,
    Delete,
    Operation,
    Set,
    Tree,
    Watch,
    Znode,
)
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.store.znode_cache import same_assignment
from backends.zookeeper.term.watch_loop import WatchLoop
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode
from backends.zookeeper.znodes.rejections import Rejections
from common.error_codes import ErrorCode
from controller.messages.job_events import AlterReply
from controller.messages.zookeeper_events import Halt
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import SubmitEvent
from controller.reassignment.queue import waiting_entries
from controller.state.state import State

log = logging.getLogger(__name__)

WRITTEN = f"{paths.OURS}/documents"
"""Digests of the documents as we wrote them last."""


class PlanFormat(NamedTuple):
    """How documents are written: as Kafka writes them, or with KIP-236's originals; and with its earlier draft's children.

    Kafka's tools and brokers take no document with originals: they see no plan then.
    """

    plain: bool = True
    children: bool = False


class AdminWatcher:
    """Watches for one term. Whoever runs it calls `begin` before anything may move."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        state: State,
        submit: SubmitEvent,
        form: PlanFormat,
        rejections: Rejections,
    ) -> None:
        self._tree, self._store, self._state, self._submit, self._form = tree, store, state, submit, form
        self._rejections = rejections
        self._watch_loop = WatchLoop(self._act, rejections)
        self._seen: dict[str, Znode | None] = {}
        self._ours: dict[str, str] = {}
        """By path: the digest of what we wrote or took."""
        self._digests: bytes | None = None
        self._named: dict[TopicPartition, Replicas] = {}
        """Targets that the document names, whoever ordered them."""
        self._waits = 0
        """The mzxid of the queue that the log has told of as waiting."""
        self._first = True
        self._shown = -1
        """The revision of the state that was written."""
        self._entries: dict[TopicPartition, Entry] = {}
        """What the plan held when it was written."""
        self._children = (
            Children(tree, store, state, submit, self._watch_loop, rejections) if form.children else None
        )

    async def begin(self) -> None:
        """Learn what was written before; nothing starts while the cancel znode exists."""
        self._state.backlog.halted = await self._tree.get(paths.CANCEL) is not None
        written = await self._tree.get(WRITTEN)
        self._digests = None if written is None else written.data or b""
        if written is not None:
            with self._rejections.skip_invalid(WRITTEN):
                found = decode_object(written.data)
                self._ours = {path: each for path, each in found.items() if isinstance(each, str)}

    def start(self) -> None:
        """Look at everything."""
        for path in (paths.REASSIGN, paths.CANCEL, paths.QUEUE):
            self._watch_loop.set(path, partial(self._look, path))
        if self._children is not None:
            self._children.start()

    def wake(self) -> None:
        """Something was decided: the documents may have to show it."""
        self._watch_loop.wake()

    async def run(self) -> None:
        """Look for ever. Raises ZookeeperError when ZooKeeper cannot be asked."""
        await self._watch_loop.run()

    async def _look(self, path: str, watch: Watch) -> None:
        self._seen[path] = await self._tree.get(path, watch)
        self._shown = -1

    # ---- what follows from it ---------------------------------------------------------------------------------

    async def _act(self) -> None:
        """End of a round of looks. What changed since they were made is looked at again."""
        if len(self._seen) < 3:
            return
        try:
            if self._seen[paths.CANCEL] is not None:
                await self._cancel()
            else:
                if self._state.backlog.halted:
                    await self._submit(Halt(False))
                await self._take_document()
                await self._take_queue()
                self._first = False
            await self._write()
            if self._children is not None:
                await self._children.act()
        except ConflictError as conflict:
            log.debug("looked at again: %s", conflict)
            for path in (paths.REASSIGN, paths.CANCEL, paths.QUEUE):
                self._watch_loop.again(path)

    async def _take_document(self) -> None:
        entries = self._news(paths.REASSIGN, self._pending)
        if entries is None:
            if self._first:
                self._remember()
            return
        log.info("%d partitions are to be reassigned, ordered by %s", len(entries), paths.REASSIGN)
        reply = await self._submit(orders.order(entries, paths.REASSIGN))
        self._tell_of_refusals(paths.REASSIGN, reply)
        self._named.update((each.key, each.replicas) for each in entries)
        self._taken(paths.REASSIGN)

    def _remember(self) -> None:
        """At take-over: what the document names, which was taken before."""
        znode = self._seen[paths.REASSIGN]
        try:
            found = [] if znode is None else decode_plan(znode.data)
        except ZnodeError:
            return
        self._named = {each.key: each.replicas for each in found}

    def _pending(self) -> list[Entry]:
        wanted = self._state.reassignments
        for key in [key for key, to in self._named.items() if key not in wanted or wanted[key].target != to]:
            del self._named[key]
        return orders.pending(self._state, self._named)

    async def _take_queue(self) -> None:
        entries = self._news(paths.QUEUE, lambda: orders.queued(self._state))
        if entries is None:
            return
        if next(waiting_entries(self._state), None) is not None:
            znode = self._seen[paths.QUEUE]
            if znode is not None and znode.mzxid != self._waits:
                self._waits = znode.mzxid
                log.info("%s waits: another queued plan has not started yet", paths.QUEUE)
            return
        log.info("%d partitions are queued, ordered by %s", len(entries), paths.QUEUE)
        reply = await self._submit(orders.queue(entries))
        if reply.outcome.error is not ErrorCode.REASSIGNMENT_IN_PROGRESS:
            self._tell_of_refusals(paths.QUEUE, reply)
            self._taken(paths.QUEUE)

    async def _cancel(self) -> None:
        """Roll back what the document holds; then the cancel znode goes, and what was passed over stays."""
        await self._submit(Halt(True))
        found = None
        if self._first:
            self._remember()
            found = self._news(paths.REASSIGN, self._pending)
        else:
            await self._take_document()
        event, keys, skipped = orders.cancel(self._state, self._pending(), found or [])
        refused = dict(orders.refusals(await self._submit(event)))
        missing = [f"{entry.key} is not rolled back: original_replicas is missing" for entry in skipped]
        lost = [f"{key} is not rolled back: {outcome.text}" for key, outcome in refused.items()]
        self._rejections.reject_rows(paths.REASSIGN, missing + lost)
        back = [key for key in keys if key not in refused]
        log.info("%d partitions are rolled back, ordered by %s", len(back), paths.CANCEL)
        unthrottled = orders.unthrottle(self._state, back)
        if unthrottled is not None:
            await self._submit(unthrottled)
        if found is not None and not skipped:
            self._taken(paths.REASSIGN)
        await self._write(skipped, Delete(paths.CANCEL))
        self._watch_loop.again(paths.REASSIGN)

    def _news(self, path: str, pending: Callable[[], Sequence[Entry]]) -> list[Entry] | None:
        """The entries of a document that is not ours and may be taken: nothing is pending, or we have just come."""
        znode = self._seen[path]
        if znode is None or _digest(znode.data) == self._ours.get(path):
            return None
        if not self._first and pending():
            what = "was written over while it was carried out: ignored"
            self._rejections.reject(path, what, mzxid=znode.mzxid, level=logging.WARNING)
            return None
        try:
            return decode_plan(znode.data)
        except ZnodeError as error:
            what = f"is passed over, and left as it is: {error}"
            self._rejections.reject(path, what, mzxid=znode.mzxid)
            return None

    def _taken(self, path: str) -> None:
        znode = self._seen[path]
        if znode is not None:
            self._ours[path] = _digest(znode.data)
            self._shown = -1

    def _tell_of_refusals(self, path: str, reply: AlterReply) -> None:
        rows = orders.refusals(reply)
        self._rejections.reject_rows(
            path, (f"{key} is not reassigned: {outcome.text}" for key, outcome in rows)
        )

    # ---- what is shown ----------------------------------------------------------------------------------------

    async def _write(self, skipped: Sequence[Entry] = (), *also: Operation) -> None:
        """Make the documents show what is pending. With skipped entries it is taken anew, when it is read again."""
        revision = self._state.reassigning_revision
        if revision == self._shown and not also:
            return
        pending, queued = [*self._pending(), *skipped], orders.queued(self._state)
        ending = self._ending(pending)
        pending += ending
        plan = fitting(pending, plain=self._form.plain) if pending else None
        # Both are written at once.
        room = LIMIT_BYTES - len(plan or b"")
        documents = {
            paths.REASSIGN: plan,
            paths.QUEUE: fitting(queued, plain=True, limit=room) if queued else None,
        }
        operations = [
            each for path, data in documents.items() if (each := self._made_so(path, data)) is not None
        ]
        ours = {path: "" if data is None else _digest(data) for path, data in documents.items()}
        if skipped:
            ours[paths.REASSIGN] = ""
        digests = encode(ours)
        if digests != self._digests:
            operations.append(
                Create(WRITTEN, digests) if self._digests is None else Set(WRITTEN, digests, ANY)
            )
        operations += also
        if operations:
            await self._store.write(operations)
        self._digests, self._ours, self._shown = digests, ours, -1 if ending else revision
        self._entries = {each.key: each for each in pending}
        for each in operations:
            if each.path in self._seen:
                self._seen[each.path] = _after(each, self._seen[each.path])

    def _ending(self, pending: Sequence[Entry]) -> list[Entry]:
        """Entries that have ended in the core, and not yet in the topic's znode.

        Kafka's tools read the plan first: what is neither in it nor at its target has failed, they say, and their throttle goes.
        """
        gone = self._entries.keys() - {each.key for each in pending}
        return [self._entries[key] for key in gone if self._is_ahead(key)]

    def _is_ahead(self, key: TopicPartition) -> bool:
        decided, stored = self._state.partition(*key), self._store.cache.partition(key)
        return decided is not None and stored is not None and not same_assignment(decided, stored)

    def _made_so(self, path: str, data: bytes | None) -> Operation | None:
        """What makes the document so. One that is not ours is not removed."""
        seen = self._seen[path]
        if seen is None:
            if data is not None and self._ours.get(path):
                log.warning("%s was removed, and is written again: what it held has not ended", path)
            return None if data is None else Create(path, data)
        if data is None:
            return Delete(path, seen.version) if _digest(seen.data) == self._ours.get(path) else None
        return None if seen.data == data else Set(path, data, seen.version)


def _after(operation: Operation, before: Znode | None) -> Znode | None:
    """The znode as the operation leaves it; it is read again soon."""
    match operation:
        case Create(_, data):
            return Znode(data, 0, 0)
        case Set(_, data, version):
            return None if before is None else before._replace(data=data, version=version + 1)
        case _:
            return None


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()
