"""The watches of Kafka's znodes, which become events for the controller.

Brokers, topics, ISRs, configs, and requests of tools.

Kafka's controller watches the same znodes (KafkaController: BrokerChange, TopicChange,
PartitionModifications, IsrChangeNotification, LogDirEventNotification, TopicDeletion,
ApiPartitionReassignment, ReplicaLeaderElection).
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from backends.zookeeper.session.tree import ConflictError, Delete, Tree, Watch, WatchLoop, ZookeeperError
from backends.zookeeper.store.loading import complete_topic, read_new_topic
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.store.transaction import resource_of
from backends.zookeeper.store.znode_cache import NO_STATE
from backends.zookeeper.term.election import ControllerCandidate
from backends.zookeeper.term.registered_brokers import BrokerDirectory, RegisteredBroker
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, ZnodeError, decode_object, named_partitions, numbered
from backends.zookeeper.znodes.formats import (
    decode_broker,
    decode_config_change,
    decode_isr_changes,
    decode_log_dir_event,
)
from common.wording import counted
from controller.messages.events import (
    BrokerChanged,
    BrokerStarted,
    BrokerStopped,
    ConfigsStored,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    PartitionsStored,
    TopicStored,
)
from controller.model.cluster import Partition, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)


class Observer:
    """The watches of one term. `on_log_dir_event` is called with a broker that has lost a log directory."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        directory: BrokerDirectory,
        candidate: ControllerCandidate,
        state: State,
        submit: SubmitEvent,
        rejections: Rejections,
        on_log_dir_event: Callable[[int], None],
    ) -> None:
        self.watch_loop = WatchLoop(self._submit_observed, rejections)
        self._rejections = rejections
        self._tree, self._store, self._directory = tree, store, directory
        self._own_id = candidate.id
        self._state, self._submit = state, submit
        self._on_log_dir_event = on_log_dir_event
        self.on_brokers: Callable[[], None] = lambda: None
        """Called when `/brokers/ids` may have changed."""
        self._observed: list[Partition] = []
        """Partitions whose stored ISR is new to the controller; submitted in one event after the round."""
        self._read_notifications: set[str] = set()
        """Names of config change notifications that were read."""
        self._delayed: set[str] = set()
        """Topics to which others added partitions during a reassignment. The controller gets them when the
        topic is idle."""
        self._unplaced: set[str] = set()
        """Topics with new partitions on our own id, for which there are not enough brokers."""
        self.refused: set[str] = set()
        """Topics that have a znode, but are not known to the controller."""

    def start(self) -> None:
        """Add all watches. The first read finds what was written before the term."""
        readers = {
            paths.BROKERS: self._read_brokers,
            paths.TOPICS: self._read_topics,
            paths.DELETE_TOPICS: self._read_deletions,
            paths.ISR_CHANGES: self._read_isr_changes,
            paths.LOG_DIR_EVENTS: self._read_log_dir_events,
            paths.CONFIG_CHANGES: self._read_config_changes,
            paths.PREFERRED_ELECTION: self._read_election,
        }
        for path, reader in readers.items():
            self.watch_loop.add(path, reader)
        for topic in self._store.cache.topics:
            self._watch_topic(topic)

    def follow(self, partition: Partition) -> None:
        """Watch the state of a partition while it moves, because ISR notifications may be a minute late."""
        path = paths.state(partition.topic, partition.partition)
        if partition.moving:
            key = partition.key
            self.watch_loop.add(path, lambda watch: self._read_state(key, watch))
        else:
            self.watch_loop.drop(path)

    def forget(self, topic: str) -> None:
        """Remove the watch of a deleted topic."""
        self._unplaced.discard(topic)
        self.watch_loop.drop(paths.topic(topic))

    async def registered_brokers(self, watch: Watch | None = None) -> list[RegisteredBroker]:
        """Read all registrations but our own; invalid ones are left out."""
        brokers = []
        for name in await self._tree.children(paths.BROKERS, watch) or []:
            path, number = f"{paths.BROKERS}/{name}", numbered(name)
            znode = await self._tree.get(path, watch)
            if znode is None or name == str(self._own_id):
                continue
            with self._rejections.skip_invalid(path, znode.mzxid):
                if number is None:
                    raise ZnodeError("its name is not a broker id")
                broker = RegisteredBroker(number, znode.czxid, decode_broker(znode.data))
                self._directory.broker_registration(broker)
                brokers.append(broker)
        return sorted(brokers)

    # ---- brokers and topics --------------------------------------------------------------------------------

    async def _read_brokers(self, watch: Watch) -> None:
        changes = self._directory.update(await self.registered_brokers(watch))
        for number in changes.stopped:
            log.warning("broker %d is not registered any more: it gets no new partitions", number)
            await self._submit(BrokerStopped(number))
        for broker in changes.started:
            log.info("broker %d has registered", broker.id)
            await self._submit(BrokerStarted(self._directory.broker_registration(broker)))
        for broker in changes.changed:
            await self._submit(BrokerChanged(self._directory.broker_registration(broker)))
        if changes.started:
            for name in self._unplaced:
                self.watch_loop.schedule(paths.topic(name))
        self.on_brokers()

    async def _read_topics(self, watch: Watch) -> None:
        for name in await self._tree.children(paths.TOPICS, watch) or []:
            self._watch_topic(name)

    def _watch_topic(self, name: str) -> None:
        self.watch_loop.add(paths.topic(name), lambda watch: self._read_topic(name, watch))

    async def _read_topic(self, name: str, watch: Watch) -> None:
        """Read a topic's znode, and submit the partitions that the controller does not know."""
        cache = self._store.cache
        znode = await self._tree.get(paths.topic(name), watch)
        if znode is None:
            self.forget(name)
            self.refused.discard(name)
            if name in cache.topics:
                raise ZookeeperError(f"topic {name} was removed from ZooKeeper, but not by this controller")
            return
        if name not in cache.topics:
            await self._add_topic(name)
        else:
            with self._rejections.skip_invalid(paths.topic(name), znode.mzxid):
                cache.observe_topic(name, complete_topic(znode.data), znode.version)
        stored = cache.topics.get(name)
        added = stored and cache.added(name, len(self._state.cluster.partitions.get(name, ())))
        if not stored or not added:
            return
        if name in self._state.orders.reassigning:
            # As in Kafka, partitions are not added to a topic that is being reassigned.
            new = counted(len(added), "new partition")
            log.info("topic %s gets %s when its reassignments have ended", name, new)
            self._delayed.add(name)
            return
        placed = self._place(name, added)
        if placed != added:
            log.warning(
                "topic %s: new replicas on %d go to other brokers, because reassignd holds no replicas",
                name,
                self._own_id,
            )
        await self._submit(TopicStored(name, stored.id, placed))

    def _place(self, name: str, partitions: Sequence[Partition]) -> list[Partition]:
        """Replace our own id in new partitions' replicas.

        Raises ZnodeError when there are not enough brokers.
        """
        self._unplaced.add(name)
        placed = [self._directory.replace_controller(partition, self._own_id) for partition in partitions]
        self._unplaced.discard(name)
        return placed

    async def _add_topic(self, name: str) -> None:
        """Cache a topic that others have created.

        A topic that the controller has created is not read: its own commit fills the cache.
        """
        if name in self._state.cluster.topics:
            return
        self.refused.add(name)
        stored = await read_new_topic(self._tree, name)
        if stored is None:
            return
        if any(each.partition_epoch != NO_STATE for each in stored.partitions):
            # It has leaders, so it is not new: it was invalid when the term began. A new term loads it.
            raise ZookeeperError(f"topic {name} was invalid and is valid now: loading all topics again")
        self._place(name, stored.partitions)
        self._store.cache.topics.setdefault(name, stored)
        self.refused.discard(name)

    def release_delayed(self) -> None:
        """Read topics with delayed partitions again whose reassignments have ended."""
        for name in self._delayed - self._state.orders.reassigning.keys():
            self._delayed.discard(name)
            self.watch_loop.schedule(paths.topic(name))

    async def _read_deletions(self, watch: Watch) -> None:
        for name in await self._tree.children(paths.DELETE_TOPICS, watch) or []:
            topic = self._store.cache.topics.get(name)
            if topic is None:
                await self._delete(paths.delete_topic(name), *await self._unplaced_znodes(name))
            elif not topic.deletable:
                topic.deletable = True
                await self._submit(DeleteTopics([name]))

    async def _unplaced_znodes(self, name: str) -> list[str]:
        """Return the znodes of a topic that could not be placed.

        It has no partitions, so the controller cannot delete it.
        """
        if name not in self._unplaced or name in self._state.cluster.topics:
            return []
        candidates = (paths.config(f"topics/{name}"), paths.topic(name))
        return [path for path in candidates if await self._tree.get(path)]

    # ---- ISRs, log directories, configs, elections ---------------------------------------------------------

    async def _read_state(self, key: TopicPartition, watch: Watch) -> None:
        # The watch must be set before the state is read, or a change between the two would be missed.
        if await self._tree.get(paths.state(*key), watch) is not None:
            await self._observe_states([key])

    async def _read_isr_changes(self, watch: Watch) -> None:
        async def read(data: bytes | None) -> None:
            await self._observe_states([TopicPartition(*each) for each in decode_isr_changes(data)])

        await self._consume_notifications(paths.ISR_CHANGES, watch, read)

    async def _read_log_dir_events(self, watch: Watch) -> None:
        async def read(data: bytes | None) -> None:
            self._on_log_dir_event(decode_log_dir_event(data))

        await self._consume_notifications(paths.LOG_DIR_EVENTS, watch, read)

    async def _consume_notifications(
        self, parent: str, watch: Watch, read: Callable[[bytes | None], Awaitable[None]]
    ) -> None:
        """Read each child and delete it."""
        for name in sorted(await self._tree.children(parent, watch) or []):
            path = f"{parent}/{name}"
            znode = await self._tree.get(path)
            if znode is None:
                continue
            with self._rejections.skip_invalid(path):
                await read(znode.data)
            await self._delete(path)

    async def _read_config_changes(self, watch: Watch) -> None:
        names = await self._tree.children(paths.CONFIG_CHANGES, watch) or []
        # Notifications exist for 15 minutes, and every broker reads them. Only those that are new are read
        # here.
        new = [
            f"{paths.CONFIG_CHANGES}/{name}" for name in sorted(names) if name not in self._read_notifications
        ]
        entities: dict[str, None] = {}
        for path, znode in zip(new, await self._tree.get_all(new), strict=True):
            if znode is not None:
                with self._rejections.skip_invalid(path, znode.mzxid):
                    entities[decode_config_change(znode.data)] = None
        for entity in entities:
            resource = resource_of(entity)
            if resource is not None:
                with self._rejections.skip_invalid(paths.config(entity)):
                    values = await self._store.read_config(entity)
                    if values is not None:
                        await self._submit(ConfigsStored(*resource, values))
        self._read_notifications = set(names)

    async def _read_election(self, watch: Watch) -> None:
        znode = await self._tree.get(paths.PREFERRED_ELECTION, watch)
        if znode is None:
            return
        with self._rejections.skip_invalid(paths.PREFERRED_ELECTION):
            keys = [TopicPartition(*each) for each in named_partitions(decode_object(znode.data))]
            log.info(
                "preferred leader election of %s, from %s",
                counted(len(keys), "partition"),
                paths.PREFERRED_ELECTION,
            )
            await self._submit(ElectLeaders(ElectionType.PREFERRED, keys))
        await self._delete(paths.PREFERRED_ELECTION)

    async def _observe_states(self, keys: Sequence[TopicPartition]) -> None:
        self._observed += await self._store.read_partitions(keys)

    async def _submit_observed(self) -> None:
        """Submit the states that the round has read, in one event."""
        if self._observed:
            observed, self._observed = self._observed, []
            await self._submit(PartitionsStored(observed))

    def report(self, partitions: Sequence[Partition]) -> None:
        """Submit the states of partitions that were not stored as decided."""
        self._observed += partitions
        self.watch_loop.wake()

    async def _delete(self, *deleted: str) -> None:
        try:
            await self._store.write([Delete(path) for path in deleted])
        except ConflictError as conflict:
            log.debug("not deleted: %s", conflict)
