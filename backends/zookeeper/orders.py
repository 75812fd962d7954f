"""Orders that tools leave in ZooKeeper: a plan, a queued plan, and the cancellation of what is pending.

KIP-236: `/admin/reassign_partitions` gets `original_replicas` when it is accepted, loses entries as they end or are ordered
otherwise, and goes with the last; `/admin/cancel_reassignment_in_progress` takes back what is in it, but for entries
that would lose data, which stay; entries of `/admin/reassign_partitions_queue` leave it for the plan when they start.
KIP-455: a plan is taken only when there is none, and what is written over one is ignored; at take-over the plan comes before
what was ordered by the API.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from backends.zookeeper import paths
from backends.zookeeper.fields import ZnodeError
from backends.zookeeper.lookout import Lookout
from backends.zookeeper.plans import Entry, Plan, decode_plan, encode_plan, topics_of
from backends.zookeeper.store import ZkStore
from backends.zookeeper.tree import ANY, ConflictError, Create, Delete, Operation, Set, Tree, Watch, Znode
from controller.events import (
    AlterConfigs,
    AlterReassignments,
    AlterReply,
    ConfigChange,
    ConfigOp,
    Event,
    ResourceChanges,
)
from controller.job_events import Queue
from controller.model import Change, Deleted, Pending, Reassignment, ResourceType, TopicPartition
from controller.state import State
from controller.throttle import FOLLOWER_REPLICAS, LEADER_REPLICAS

log = logging.getLogger(__name__)

Submit = Callable[[Event], Awaitable[Any]]

PRINCIPAL = "ZooKeeper"


class Orders:
    """Looks at the three znodes for one term, and keeps the plans in them true."""

    def __init__(self, tree: Tree, store: ZkStore, state: State, submit: Submit, lookout: Lookout) -> None:
        self._tree, self._store, self._state = tree, store, state
        self._submit, self._lookout = submit, lookout
        self._plan: Plan = {}
        """What we have accepted and not seen the end of."""
        self._queue: Plan = {}
        self._written: dict[str, int] = {}
        """Versions of the plans' znodes as we have written them."""

    def start(self) -> None:
        """Look from now on."""
        self._store.on_written = self._changed
        self._lookout.set(paths.CANCEL, self._look_at_cancel)
        self._lookout.set(paths.REASSIGN, self._look_at_plan)
        self._lookout.set(paths.QUEUE, self._look_at_queue)

    # ---- the plan ---------------------------------------------------------------------------------------------

    async def _look_at_plan(self, watch: Watch) -> None:
        znode = await self._tree.get(paths.REASSIGN, watch)
        if znode is None:
            self._plan.clear()
        elif not self._plan and await self._tree.get(paths.CANCEL) is None:
            await self._accept(znode)
        elif znode.version != self._written.get(paths.REASSIGN, znode.version) and self._plan:
            log.error("%s was written over while it was carried out: ignored", paths.REASSIGN)
            await self._write(paths.REASSIGN, self._plan)
        await self._trim()

    async def _accept(self, znode: Znode) -> None:
        plan = decode_plan(znode.data)
        # An entry with original replicas was accepted before, by us or by who was in office before us.
        new = {key: entry for key, entry in plan.items() if entry.original is None}
        if new:
            log.info("%d partitions are ordered by %s", len(new), paths.REASSIGN)
            order = AlterReassignments(
                topics_of((key, e.replicas) for key, e in new.items()), principal=PRINCIPAL
            )
            self._complain(await self._submit(order))
        self._plan = {
            key: self._with_original(key, entry) for key, entry in plan.items() if self._under_way(key, entry)
        }
        await self._write(paths.REASSIGN, self._plan)

    def _complain(self, reply: AlterReply) -> None:
        for topic, rows in reply.topics:
            for number, outcome in rows:
                if not outcome.ok:
                    reason = outcome.message or outcome.error.name
                    log.error("%s-%d is not reassigned: %s", topic, number, reason)

    def _under_way(self, key: TopicPartition, entry: Entry) -> bool:
        """It is what is wanted of the partition now."""
        wanted = self._state.reassignments.get(key)
        return wanted is not None and wanted.target == entry.replicas

    def _with_original(self, key: TopicPartition, entry: Entry) -> Entry:
        return entry._replace(original=self._state.reassignments[key].original)

    async def _trim(self) -> None:
        """Entries that have ended, or that are wanted otherwise by now, are no part of the plan any more."""
        plan = {key: entry for key, entry in self._plan.items() if self._under_way(key, entry)}
        if len(plan) != len(self._plan):
            self._plan = plan
            await self._write(paths.REASSIGN, plan)

    # ---- the cancellation -------------------------------------------------------------------------------------

    async def _look_at_cancel(self, watch: Watch) -> None:
        if await self._tree.get(paths.CANCEL, watch) is None:
            return
        cancelled: list[TopicPartition] = []
        znode = await self._tree.get(paths.REASSIGN)
        if znode is not None:
            try:
                cancelled = await self._cancel(decode_plan(znode.data))
            except ZnodeError as error:
                log.error("%s is passed over: %s", paths.REASSIGN, error)
        log.info("%d partitions are cancelled by %s", len(cancelled), paths.CANCEL)
        await self._unthrottle(cancelled)
        await self._remove(paths.CANCEL)

    async def _cancel(self, plan: Plan) -> list[TopicPartition]:
        """Take back what can be; the rest stays in the plan."""
        self._plan, asked = {}, []
        for key, entry in plan.items():
            if entry.original is None:
                log.error("%s is not cancelled: it has no original_replicas", key)
                self._plan[key] = entry
            elif self._under_way(key, entry):
                asked.append(key)
        reply: AlterReply = await self._submit(
            AlterReassignments(topics_of((k, None) for k in asked), principal=PRINCIPAL)
        )
        self._complain(reply)
        refused = {TopicPartition(t, n) for t, rows in reply.topics for n, outcome in rows if not outcome.ok}
        self._plan.update({key: plan[key] for key in refused})
        await self._write(paths.REASSIGN, self._plan)
        return [key for key in asked if key not in refused]

    async def _unthrottle(self, cancelled: Sequence[TopicPartition]) -> None:
        """Take the partitions off their topics' lists of throttled replicas."""
        partitions: dict[str, set[str]] = {}
        for topic, number in cancelled:
            partitions.setdefault(topic, set()).add(str(number))
        changes = []
        for topic, numbers in partitions.items():
            for config in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
                listed = (self._state.config(ResourceType.TOPIC, topic, config) or "").split(",")
                left = [each for each in listed if each.partition(":")[0] not in numbers]
                if left != listed:
                    op = ConfigOp.SET if left else ConfigOp.DELETE
                    change = ConfigChange(config, op, ",".join(left) or None)
                    changes.append(ResourceChanges(ResourceType.TOPIC, topic, [change]))
        if changes:
            await self._submit(AlterConfigs(changes))

    # ---- the queue --------------------------------------------------------------------------------------------

    async def _look_at_queue(self, watch: Watch) -> None:
        znode = await self._tree.get(paths.QUEUE, watch)
        if znode is None:
            self._queue.clear()
        elif not self._queue and await self._tree.get(paths.CANCEL) is None:
            queue = decode_plan(znode.data)
            new = [(key, entry.replicas) for key, entry in queue.items() if not self._waits(key, entry)]
            if new:
                log.info("%d partitions are queued by %s", len(new), paths.QUEUE)
                self._complain(await self._submit(Queue(topics_of(new), append=True, principal=PRINCIPAL)))
            self._queue = queue
        await self._take_started()

    async def _take_started(self) -> None:
        """What has started goes from the queue to the plan; what is not wanted any more just goes."""
        waiting = {key: entry for key, entry in self._queue.items() if self._waits(key, entry)}
        if len(waiting) == len(self._queue):
            return
        gone = {key: entry for key, entry in self._queue.items() if key not in waiting}
        self._queue = waiting
        await self._write(paths.QUEUE, waiting)
        started = {k: self._with_original(k, e) for k, e in gone.items() if self._under_way(k, e)}
        if started:
            self._plan.update(started)
            await self._write(paths.REASSIGN, self._plan)

    def _waits(self, key: TopicPartition, entry: Entry) -> bool:
        pending = self._state.pending.get(key)
        if pending is not None:
            return pending.target == entry.replicas
        partition = self._state.partition(*key)
        return self._under_way(key, entry) and partition is not None and not partition.moving

    # ---- writing ----------------------------------------------------------------------------------------------

    def _changed(self, changes: Sequence[Change]) -> None:
        """These are durable: what they end is to leave the plans."""
        for change in changes:
            kind = change.kind if isinstance(change, Deleted) else type(change)
            if kind in {Reassignment, Pending} and (change.key in self._plan or change.key in self._queue):
                self._lookout.again(paths.REASSIGN)
                self._lookout.again(paths.QUEUE)
                return
        if self._queue:
            self._lookout.again(paths.QUEUE)

    async def _write(self, path: str, plan: Plan) -> None:
        """Make the znode hold the plan; none when it is empty."""
        there = await self._tree.get(path)
        operations: list[Operation] = []
        if not plan:
            operations = [] if there is None else [Delete(path, there.version)]
        elif there is None:
            operations = [Create(path, encode_plan(plan))]
        else:
            operations = [Set(path, encode_plan(plan), ANY)]
        try:
            await self._store.write(operations)
        except ConflictError as conflict:
            log.debug("%s", conflict)
            self._lookout.again(path)
        self._written[path] = 0 if there is None else there.version + 1

    async def _remove(self, path: str) -> None:
        try:
            await self._store.write([Delete(path)])
        except ConflictError:
            log.debug("%s is gone already", path)
