"""What happens in ZooKeeper, as events for the core: brokers, topics, ISRs, configs, and the orders that tools leave there.

Kafka's controller watches the same znodes (KafkaController: BrokerChange, TopicChange, PartitionModifications,
IsrChangeNotification, LogDirEventNotification, TopicDeletion, ApiPartitionReassignment, ReplicaLeaderElection).
"""

import logging
from collections.abc import Callable, Sequence

from backends.zookeeper.session.tree import ConflictError, Delete, Tree, Watch, ZookeeperError
from backends.zookeeper.store.loading import read_new_topic, whole_topic
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.store.transaction import resource_of
from backends.zookeeper.store.znode_cache import NO_STATE
from backends.zookeeper.term.brokers import BrokerDirectory, Registered
from backends.zookeeper.term.election import Candidate
from backends.zookeeper.term.watch_loop import WatchLoop
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, named_partitions, numbered
from backends.zookeeper.znodes.formats import (
    decode_broker,
    decode_config_change,
    decode_isr_changes,
    decode_log_dir_event,
)
from backends.zookeeper.znodes.rejections import Rejections
from controller.messages.events import (
    BrokerChanged,
    BrokerStarted,
    BrokerStopped,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
)
from controller.messages.zookeeper_events import ConfigsStored, PartitionsStored, TopicStored
from controller.model.cluster import Partition, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)


class Observer:
    """Watches for one term. `on_log_dir_event` is told of a broker that has lost a log directory."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        directory: BrokerDirectory,
        candidate: Candidate,
        state: State,
        submit: SubmitEvent,
        rejections: Rejections,
        on_log_dir_event: Callable[[int], None],
    ) -> None:
        self.watch_loop = WatchLoop(self._report, rejections)
        self._rejections = rejections
        self._tree, self._store, self._directory = tree, store, directory
        self._own_id = candidate.id
        self._state, self._submit = state, submit
        self._on_log_dir_event = on_log_dir_event
        self.on_brokers: Callable[[], None] = lambda: None
        """Called when `/brokers/ids` may have changed."""
        self._seen: list[Partition] = []
        """Partitions whose ISR is news, to be reported together."""
        self._heard: set[str] = set()
        """Notifications of configs that were looked at."""
        self._held: set[str] = set()
        """Topics that others gave partitions while they moved: those wait until nothing of the topic does."""
        self._unplaced: set[str] = set()
        """Topics with new partitions that name us, where there are not enough brokers."""
        self.refused: set[str] = set()
        """Topics that have a znode and are not known to the core, for whatever reason."""

    def start(self) -> None:
        """Look at everything; what was left behind before is found by the first look."""
        looks = {
            paths.BROKERS: self._look_at_brokers,
            paths.TOPICS: self._look_at_topics,
            paths.DELETE_TOPICS: self._look_at_deletions,
            paths.ISR_CHANGES: self._look_at_isr_changes,
            paths.LOG_DIR_EVENTS: self._look_at_log_dir_events,
            paths.CONFIG_CHANGES: self._look_at_config_changes,
            paths.PREFERRED_ELECTION: self._look_at_elections,
        }
        for path, look in looks.items():
            self.watch_loop.set(path, look)
        for topic in self._store.cache.topics:
            self._watch_topic(topic)

    def follow(self, partition: Partition) -> None:
        """Watch the ISR of a partition for as long as it moves."""
        path = paths.state(partition.topic, partition.partition)
        if partition.moving:
            key = partition.key
            self.watch_loop.set(path, lambda watch: self._look_at_state(key, watch))
        else:
            self.watch_loop.drop(path)

    def forget(self, topic: str) -> None:
        """The topic is gone."""
        self._unplaced.discard(topic)
        self.watch_loop.drop(paths.topic(topic))

    async def read_brokers(self, watch: Watch | None = None) -> list[Registered]:
        """Those registered, without ourselves; one that makes no sense is left out."""
        found = []
        for name in await self._tree.children(paths.BROKERS, watch) or []:
            path, broker = f"{paths.BROKERS}/{name}", numbered(name)
            znode = await self._tree.get(path, watch)
            if znode is None or name == str(self._own_id):
                continue
            with self._rejections.skip_invalid(path, znode.mzxid):
                if broker is None:
                    raise ZnodeError("its name is not a broker id")
                registered = Registered(broker, znode.czxid, decode_broker(znode.data))
                self._directory.reached(registered)
                found.append(registered)
        return sorted(found)

    # ---- looks ------------------------------------------------------------------------------------------------

    async def _look_at_brokers(self, watch: Watch) -> None:
        gone, new, changed = self._directory.changes(await self.read_brokers(watch))
        for one in gone:
            await self._submit(BrokerStopped(one))
        for broker in new:
            await self._submit(BrokerStarted(self._directory.reached(broker)))
        for broker in changed:
            await self._submit(BrokerChanged(self._directory.reached(broker)))
        if new:
            for name in self._unplaced:
                self.watch_loop.again(paths.topic(name))
        self.on_brokers()

    async def _look_at_topics(self, watch: Watch) -> None:
        names = await self._tree.children(paths.TOPICS, watch) or []
        for name in names:
            self._watch_topic(name)

    def _watch_topic(self, name: str) -> None:
        self.watch_loop.set(paths.topic(name), lambda watch: self._look_at_topic(name, watch))

    async def _look_at_topic(self, name: str, watch: Watch) -> None:
        znode = await self._tree.get(paths.topic(name), watch)
        if znode is None:
            self.forget(name)
            self.refused.discard(name)
            if name in self._store.cache.topics:
                raise ZookeeperError(f"someone else has removed topic {name} from ZooKeeper")
            return
        if name not in self._store.cache.topics:
            await self._take_in(name)
        else:
            with self._rejections.skip_invalid(paths.topic(name), znode.mzxid):
                self._store.cache.observe_topic(name, whole_topic(znode.data), znode.version)
        stored = self._store.cache.topics.get(name)
        found = stored and self._store.cache.added(name, len(self._state.partitions.get(name, ())))
        if not stored or not found:
            return
        if name in self._state.reassigning:
            log.info("%d partitions added to topic %s wait until it does not move", len(found), name)
            self._held.add(name)
            return
        placed = self._place(name, found)
        if placed != found:
            log.warning(
                "topic %s: replicas on %d, which is reassignd and holds none, go to other brokers",
                name,
                self._own_id,
            )
        await self._submit(TopicStored(name, stored.id, placed))

    def _place(self, name: str, partitions: Sequence[Partition]) -> list[Partition]:
        """New partitions, without replicas on us. Raises ZnodeError when there are not enough brokers."""
        self._unplaced.add(name)
        placed = [self._directory.place(partition, self._own_id) for partition in partitions]
        self._unplaced.discard(name)
        return placed

    async def _take_in(self, name: str) -> None:
        """A topic that others made. One that we are about to store is not read: what is written counts."""
        if name in self._state.topics:
            return
        self.refused.add(name)
        stored = await read_new_topic(self._tree, name)
        if stored is None:
            return
        if any(each.partition_epoch != NO_STATE for each in stored.partitions):
            raise ZookeeperError(f"topic {name} makes sense again: all is read anew")
        self._place(name, stored.partitions)
        self._store.cache.topics.setdefault(name, stored)
        self.refused.discard(name)

    def release(self) -> None:
        """Something was decided: what was held back may go on."""
        for name in self._held - self._state.reassigning.keys():
            self._held.discard(name)
            self.watch_loop.again(paths.topic(name))

    async def _look_at_deletions(self, watch: Watch) -> None:
        for name in await self._tree.children(paths.DELETE_TOPICS, watch) or []:
            topic = self._store.cache.topics.get(name)
            if topic is None:
                await self._remove(paths.delete_topic(name), *await self._never_made(name))
            elif not topic.deletable:
                topic.deletable = True
                await self._submit(DeleteTopics([name]))

    async def _look_at_state(self, key: TopicPartition, watch: Watch) -> None:
        # The watch must be on before the reading, or a change in between would be missed.
        if await self._tree.get(paths.state(*key), watch) is not None:
            await self._read_states([key])

    async def _look_at_isr_changes(self, watch: Watch) -> None:
        for name in sorted(await self._tree.children(paths.ISR_CHANGES, watch) or []):
            path = f"{paths.ISR_CHANGES}/{name}"
            znode = await self._tree.get(path)
            if znode is None:
                continue
            with self._rejections.skip_invalid(path):
                keys = [TopicPartition(*each) for each in decode_isr_changes(znode.data)]
                await self._read_states(keys)
            await self._remove(path)

    async def _look_at_log_dir_events(self, watch: Watch) -> None:
        for name in sorted(await self._tree.children(paths.LOG_DIR_EVENTS, watch) or []):
            path = f"{paths.LOG_DIR_EVENTS}/{name}"
            znode = await self._tree.get(path)
            if znode is None:
                continue
            with self._rejections.skip_invalid(path):
                self._on_log_dir_event(decode_log_dir_event(znode.data))
            await self._remove(path)

    async def _look_at_config_changes(self, watch: Watch) -> None:
        names = await self._tree.children(paths.CONFIG_CHANGES, watch) or []
        # They stay for a quarter of an hour, and many come in that time.
        fresh = [f"{paths.CONFIG_CHANGES}/{name}" for name in sorted(names) if name not in self._heard]
        entities: dict[str, None] = {}
        for path, znode in zip(fresh, await self._tree.get_all(fresh), strict=True):
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
        self._heard = set(names)

    async def _look_at_elections(self, watch: Watch) -> None:
        znode = await self._tree.get(paths.PREFERRED_ELECTION, watch)
        if znode is None:
            return
        with self._rejections.skip_invalid(paths.PREFERRED_ELECTION):
            keys = [TopicPartition(*each) for each in named_partitions(decode_object(znode.data))]
            log.info(
                "preferred election of %d partitions, ordered by %s", len(keys), paths.PREFERRED_ELECTION
            )
            await self._submit(ElectLeaders(ElectionType.PREFERRED, keys))
        await self._remove(paths.PREFERRED_ELECTION)

    async def _read_states(self, keys: Sequence[TopicPartition]) -> None:
        self._seen += await self._store.read_partitions(keys)

    async def _report(self) -> None:
        """End of a round: tell what was seen of ISRs, in one event."""
        if self._seen:
            seen, self._seen = self._seen, []
            await self._submit(PartitionsStored(seen))

    def report(self, partitions: Sequence[Partition]) -> None:
        """These are stored otherwise than was decided."""
        self._seen += partitions
        self.watch_loop.wake()

    async def _never_made(self, name: str) -> list[str]:
        """The znodes of a topic that could not be placed, and so has no partitions yet."""
        if name not in self._unplaced or name in self._state.topics:
            return []
        return [
            each for each in (paths.config(f"topics/{name}"), paths.topic(name)) if await self._tree.get(each)
        ]

    async def _remove(self, *gone: str) -> None:
        try:
            await self._store.write([Delete(path) for path in gone])
        except ConflictError as conflict:
            log.debug("not removed: %s", conflict)
