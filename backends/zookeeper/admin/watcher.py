"""Orders and cancellations that tools write as znodes under `/admin` (KIP-236, KIP-455).

A plan in `/admin/reassign_partitions` or in its queue is accepted when nothing is pending there. From then on
reassignd owns the znode, and rewrites it so that it always contains the pending entries.

A digest of each plan that reassignd has written or accepted is stored with its records. A new controller
compares it with the znode: a plan with another digest was written after the last controller's term, and is an
order.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from backends.zookeeper.admin import orders
from backends.zookeeper.admin.children import ReassignmentChildren
from backends.zookeeper.admin.orders import LIMIT_BYTES, Entry, decode_plan, fitting
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
from backends.zookeeper.store.znode_cache import same_assignment
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, ZnodeError, decode_object, encode
from common.error_codes import ErrorCode
from common.wording import counted
from controller.messages.events import Halt
from controller.messages.job_events import AlterReply
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import SubmitEvent
from controller.reassignment.orders import waiting_entries
from controller.state.state import State

log = logging.getLogger(__name__)

DIGESTS = f"{paths.OURS}/documents"
"""Znode with the digests of the plans that reassignd wrote or accepted last, by path."""

WATCHED = (paths.REASSIGN, paths.CANCEL, paths.QUEUE)


class PlanFormat(NamedTuple):
    """The znodes that reassignd writes under `/admin`.

    `plain` omits KIP-236's originals, `children` adds the earlier draft's znodes.

    Kafka's tools and brokers reject plans with originals, and behave as if there were no plan.
    """

    plain: bool = True
    children: bool = False


class AdminWatcher:
    """Accepts orders and writes what is pending, for one term.

    Call `begin` before any reassignment may start.
    """

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        state: State,
        submit: SubmitEvent,
        plan_format: PlanFormat,
        rejections: Rejections,
    ) -> None:
        self._tree, self._store, self._state, self._submit = tree, store, state, submit
        self._plan_format, self._rejections = plan_format, rejections
        self._watch_loop = WatchLoop(self._after_round, rejections)
        self._seen: dict[str, Znode | None] = {}
        """The watched znodes, as they were read or written last."""
        self._own_digests: dict[str, str] = {}
        """By path: the digest of the plan that reassignd wrote or accepted last."""
        self._stored_digests: bytes | None = None
        """The data of the znode `DIGESTS`."""
        self._accepted: dict[TopicPartition, Replicas] = {}
        """Targets of the accepted plan, including those that a client had ordered before."""
        self._delay_logged = 0
        """The mzxid of the queued plan whose delay was logged last."""
        self._first_round = True
        self._written_revision = -1
        """The revision of the controller's reassignments that the znodes show."""
        self._written: dict[TopicPartition, Entry] = {}
        """The entries of the plan that was written last."""
        self._children = (
            ReassignmentChildren(tree, store, state, submit, self._watch_loop, rejections)
            if plan_format.children
            else None
        )

    async def begin(self) -> bool:
        """Load the digests. Return whether the cancel znode exists: nothing may start before that is done."""
        digests = await self._tree.get(DIGESTS)
        self._stored_digests = None if digests is None else digests.data or b""
        if digests is not None:
            with self._rejections.skip_invalid(DIGESTS):
                values = decode_object(digests.data)
                self._own_digests = {path: text for path, text in values.items() if isinstance(text, str)}
        return await self._tree.get(paths.CANCEL) is not None

    def start(self) -> None:
        """Watch the znodes."""
        for path in WATCHED:
            self._watch_loop.add(path, partial(self._read, path))
        if self._children is not None:
            self._children.start()

    def wake(self) -> None:
        """Write what is pending soon: the controller has decided something."""
        self._watch_loop.wake()

    async def run(self) -> None:
        """Watch until cancelled. Raises ZookeeperError when ZooKeeper cannot be read."""
        await self._watch_loop.run()

    async def _read(self, path: str, watch: Watch) -> None:
        self._seen[path] = await self._tree.get(path, watch)
        self._written_revision = -1

    # ---- orders --------------------------------------------------------------------------------------------

    async def _after_round(self) -> None:
        """Accept new orders, then write what is pending. On a conflict, read the znodes again."""
        if len(self._seen) < len(WATCHED):
            return
        try:
            if self._seen[paths.CANCEL] is not None:
                await self._cancel()
            else:
                if self._state.backlog.halted:
                    await self._submit(Halt(False))
                await self._accept_plan()
                await self._accept_queue()
                self._first_round = False
            await self._write()
            if self._children is not None:
                await self._children.synchronize()
        except ConflictError as conflict:
            log.debug("a znode has changed since it was read, reading it again: %s", conflict)
            for path in WATCHED:
                self._watch_loop.schedule(path)

    async def _accept_plan(self) -> None:
        entries = self._new_plan(paths.REASSIGN, self._pending)
        if entries is None:
            if self._first_round:
                self._restore_accepted()
            return
        log.info("%d reassignments ordered in %s", len(entries), paths.REASSIGN)
        reply = await self._submit(orders.alter_event(entries, paths.REASSIGN))
        self._log_rejected_rows(paths.REASSIGN, reply)
        self._accepted.update((each.key, each.replicas) for each in entries)
        self._mark_accepted(paths.REASSIGN)

    def _restore_accepted(self) -> None:
        """Take the accepted targets from the plan that the last controller accepted."""
        znode = self._seen[paths.REASSIGN]
        try:
            entries = [] if znode is None else decode_plan(znode.data)
        except ZnodeError:
            return
        self._accepted = {each.key: each.replicas for each in entries}

    def _pending(self) -> list[Entry]:
        """Return the entries that belong into the plan.

        Forget accepted targets that are no longer current.
        """
        current = self._state.orders.reassignments
        for key, target in list(self._accepted.items()):
            if key not in current or current[key].target != target:
                del self._accepted[key]
        return orders.pending_entries(self._state, self._accepted)

    async def _accept_queue(self) -> None:
        entries = self._new_plan(paths.QUEUE, lambda: orders.queued_entries(self._state))
        if entries is None:
            return
        if next(waiting_entries(self._state), None) is not None:
            # The queue holds one plan at a time. This one is accepted when all entries of the other have
            # started.
            znode = self._seen[paths.QUEUE]
            if znode is not None and znode.mzxid != self._delay_logged:
                self._delay_logged = znode.mzxid
                log.info("%s is not accepted yet: another queued plan has not started", paths.QUEUE)
            return
        log.info("%d reassignments queued in %s", len(entries), paths.QUEUE)
        reply = await self._submit(orders.queue_event(entries))
        if reply.outcome.error is not ErrorCode.REASSIGNMENT_IN_PROGRESS:
            self._log_rejected_rows(paths.QUEUE, reply)
            self._mark_accepted(paths.QUEUE)

    async def _cancel(self) -> None:
        """Roll back the plan's entries, delete the cancel znode, and write the skipped entries into the plan.

        The queued plan is withdrawn: otherwise its entries would start as soon as those of the plan have
        ended. A plan that was written during this term is accepted first, so that the cancellation includes
        it. A plan that was written before this term is not ordered any more: its entries only go back to the
        originals that it names.
        """
        await self._submit(Halt(True))
        unaccepted = None
        if self._first_round:
            self._restore_accepted()
            unaccepted = self._new_plan(paths.REASSIGN, self._pending)
        else:
            await self._accept_plan()
        pending = [*self._pending(), *orders.queued_entries(self._state)]
        event, keys, skipped = orders.cancellation(self._state, pending, unaccepted or [])
        rejected = dict(orders.rejected_rows(await self._submit(event)))
        reasons = [f"{entry.key} is not rolled back: original_replicas is missing" for entry in skipped]
        reasons += [f"{key} is not rolled back: {outcome.text}" for key, outcome in rejected.items()]
        self._rejections.reject_rows(paths.REASSIGN, reasons)
        rolled_back = [key for key in keys if key not in rejected]
        log.info("rolling back %s, as ordered by %s", counted(len(rolled_back), "partition"), paths.CANCEL)
        unthrottle = orders.unthrottle_event(self._state, rolled_back)
        if unthrottle is not None:
            await self._submit(unthrottle)
        if unaccepted is not None and not skipped:
            self._mark_accepted(paths.REASSIGN)
        if self._new_plan(paths.QUEUE, list) is not None:
            self._mark_accepted(paths.QUEUE)
        await self._write(skipped, Delete(paths.CANCEL))
        self._watch_loop.schedule(paths.REASSIGN)

    def _new_plan(self, path: str, pending: Callable[[], Sequence[Entry]]) -> list[Entry] | None:
        """Return the entries of a plan that can be accepted, None if there is none.

        A plan that overwrites a pending one is rejected, except in the first round: then the last controller
        may have been stopped before it could accept the plan.
        """
        znode = self._seen[path]
        if znode is None or _digest(znode.data) == self._own_digests.get(path):
            return None
        if not self._first_round and pending():
            reason = "was overwritten while its plan was carried out: ignored"
            self._rejections.reject(path, reason, mzxid=znode.mzxid, level=logging.WARNING)
            return None
        try:
            return decode_plan(znode.data)
        except ZnodeError as error:
            self._rejections.reject(path, f"is ignored and left unchanged: {error}", mzxid=znode.mzxid)
            return None

    def _mark_accepted(self, path: str) -> None:
        znode = self._seen[path]
        if znode is not None:
            self._own_digests[path] = _digest(znode.data)
            self._written_revision = -1

    def _log_rejected_rows(self, path: str, reply: AlterReply) -> None:
        rows = orders.rejected_rows(reply)
        self._rejections.reject_rows(
            path, (f"{key} is not reassigned: {outcome.text}" for key, outcome in rows)
        )

    # ---- writes --------------------------------------------------------------------------------------------

    async def _write(self, skipped: Sequence[Entry] = (), *also: Operation) -> None:
        """Write what is pending, the new digests and `also` in one multi.

        With skipped entries the plan gets no digest, so that it is accepted as new when it is read again.
        """
        revision = self._state.listing.revision
        if revision == self._written_revision and not also:
            return
        entries = [*self._pending(), *skipped]
        completing = self._completed_but_not_stored(entries)
        entries += completing
        plans = self._plans(entries)
        operations = [
            each for path, data in plans.items() if (each := self._plan_operation(path, data)) is not None
        ]
        own_digests = {path: "" if data is None else _digest(data) for path, data in plans.items()}
        if skipped:
            own_digests[paths.REASSIGN] = ""
        digests = encode(own_digests)
        if digests != self._stored_digests:
            new = self._stored_digests is None
            operations.append(Create(DIGESTS, digests) if new else Set(DIGESTS, digests, ANY))
        operations += also
        if operations:
            await self._store.write(operations)
        self._stored_digests, self._own_digests = digests, own_digests
        # Completed entries are removed by a later write, which must not be skipped.
        self._written_revision = -1 if completing else revision
        self._written = {each.key: each for each in entries}
        for each in operations:
            if each.path in self._seen:
                self._seen[each.path] = _znode_after(each, self._seen[each.path])

    def _plans(self, entries: Sequence[Entry]) -> dict[str, bytes | None]:
        """Return the data of the two plan znodes, which fit in one request together; None for no znode."""
        queued = orders.queued_entries(self._state)
        plan = fitting(entries, plain=self._plan_format.plain) if entries else None
        remaining = LIMIT_BYTES - len(plan or b"")
        queue = fitting(queued, plain=True, limit=remaining) if queued else None
        return {paths.REASSIGN: plan, paths.QUEUE: queue}

    def _completed_but_not_stored(self, pending: Sequence[Entry]) -> list[Entry]:
        """Return written entries whose reassignment has ended here, but not yet in the topic's znode.

        Kafka's tools read the plan before the topics. They report a partition that is neither in the plan nor
        at its target as failed, and remove its throttle. So an entry stays until the topic's znode shows the
        result.
        """
        ended = self._written.keys() - {each.key for each in pending}
        return [self._written[key] for key in ended if self._is_ahead_of_znode(key)]

    def _is_ahead_of_znode(self, key: TopicPartition) -> bool:
        decided, stored = self._state.cluster.partition(*key), self._store.cache.partition(key)
        return decided is not None and stored is not None and not same_assignment(decided, stored)

    def _plan_operation(self, path: str, data: bytes | None) -> Operation | None:
        """Return the write that gives the znode this data. A plan that others wrote is never deleted."""
        seen = self._seen[path]
        if seen is None:
            if data is not None and self._own_digests.get(path):
                log.warning("%s was deleted before its plan ended; it is written again", path)
            return None if data is None else Create(path, data)
        if data is None:
            return Delete(path, seen.version) if _digest(seen.data) == self._own_digests.get(path) else None
        return None if seen.data == data else Set(path, data, seen.version)


def _znode_after(operation: Operation, before: Znode | None) -> Znode | None:
    """Return the znode as the operation leaves it. Its mzxid is not known before the next read."""
    match operation:
        case Create(_, data):
            return Znode(data, 0, 0)
        case Set(_, data, version):
            return None if before is None else before._replace(data=data, version=version + 1)
        case _:
            return None


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()
