"""What happens in ZooKeeper, as events for the core: brokers, topics, ISRs, configs, and the orders that tools leave there.

Kafka's controller watches the same znodes (KafkaController: BrokerChange, TopicChange, PartitionModifications,
IsrChangeNotification, LogDirEventNotification, TopicDeletion, ApiPartitionReassignment, ReplicaLeaderElection).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from backends.zookeeper import paths
from backends.zookeeper.brokers import Directory, Registered
from backends.zookeeper.draft import resource_of
from backends.zookeeper.election import Candidate
from backends.zookeeper.fields import ZnodeError, decode_object, named_partitions
from backends.zookeeper.loading import read_partition
from backends.zookeeper.lookout import Lookout
from backends.zookeeper.store import ZkStore
from backends.zookeeper.tree import ANY, ConflictError, Delete, Set, Tree, Watch, ZookeeperError
from backends.zookeeper.znodes import (
    decode_broker,
    decode_config_change,
    decode_isr_changes,
    decode_log_dir_event,
    decode_topic,
    encode_broker,
)
from controller.events import (
    BrokerChanged,
    BrokerStarted,
    BrokerStopped,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    Event,
)
from controller.model import Partition, TopicPartition
from controller.state import State
from controller.stored_events import ConfigsStored, PartitionsStored, TopicStored

log = logging.getLogger(__name__)

Submit = Callable[[Event], Awaitable[Any]]


class Observer:
    """Watches for one term. `on_log_dir_event` is told of a broker that has lost a log directory."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        directory: Directory,
        candidate: Candidate,
        state: State,
        submit: Submit,
        on_log_dir_event: Callable[[int], None],
    ) -> None:
        self.lookout = Lookout(self._report)
        self._tree, self._store, self._directory = tree, store, directory
        self._candidate, self._own_id = candidate, candidate.id
        self._state, self._submit = state, submit
        self._rack = candidate.registration.rack
        self._on_log_dir_event = on_log_dir_event
        self._seen: list[Partition] = []
        """Partitions whose ISR is news, to be reported together."""
        self._held: set[str] = set()
        """Topics that others gave partitions while they moved: those wait until nothing of the topic does."""

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
            self.lookout.set(path, look)
        for topic in self._store.mirror.topics:
            self._watch_topic(topic)

    def follow(self, partition: Partition) -> None:
        """Watch the ISR of a partition for as long as it moves."""
        path = paths.state(partition.topic, partition.partition)
        if partition.moving:
            key = partition.key
            self.lookout.set(path, lambda watch: self._look_at_state(key, watch))
        else:
            self.lookout.drop(path)

    def forget(self, topic: str) -> None:
        """The topic is gone."""
        self.lookout.drop(paths.topic(topic))

    async def read_brokers(self, watch: Watch | None = None) -> list[Registered]:
        """Those registered, without ourselves; one that makes no sense is left out."""
        numbers = [int(each) for each in await self._tree.children(paths.BROKERS, watch) or []]
        found = []
        for number in sorted(numbers):
            path = paths.broker(number)
            znode = await self._tree.get(path, watch)
            if znode is None or number == self._own_id:
                continue
            try:
                registered = Registered(number, znode.czxid, decode_broker(znode.data))
                self._directory.reached(registered)
                found.append(registered)
            except ZnodeError as error:
                log.error("broker %d is passed over: %s: %s", number, path, error)
        return found

    # ---- looks ------------------------------------------------------------------------------------------------

    async def _look_at_brokers(self, watch: Watch) -> None:
        gone, new, changed = self._directory.changes(await self.read_brokers(watch))
        for number in gone:
            await self._submit(BrokerStopped(number))
        for broker in new:
            await self._submit(BrokerStarted(self._directory.reached(broker)))
        for broker in changed:
            await self._submit(BrokerChanged(self._directory.reached(broker)))
        await self._take_rack()

    async def _take_rack(self) -> None:
        """Be registered in a rack when brokers are."""
        if self._rack != self._directory.rack:
            self._rack = self._directory.rack
            registration = self._candidate.registration._replace(rack=self._rack)
            await self._store.write([Set(paths.broker(self._own_id), encode_broker(registration, 0), ANY)])

    async def _look_at_topics(self, watch: Watch) -> None:
        names = await self._tree.children(paths.TOPICS, watch) or []
        for name in names:
            self._watch_topic(name)

    def _watch_topic(self, name: str) -> None:
        self.lookout.set(paths.topic(name), lambda watch: self._look_at_topic(name, watch))

    async def _look_at_topic(self, name: str, watch: Watch) -> None:
        znode = await self._tree.get(paths.topic(name), watch)
        if znode is None:
            self.forget(name)
            if name in self._store.mirror.topics:
                raise ZookeeperError(f"someone else has removed topic {name} from ZooKeeper")
            return
        topic = decode_topic(znode.data)
        if sorted(topic.partitions) != list(range(len(topic.partitions))) or not all(
            each.replicas for each in topic.partitions.values()
        ):
            raise ZnodeError("partitions are missing, or have no replicas")
        self._store.mirror.observe_topic(name, topic, znode.version)
        found = self._store.mirror.added(name, len(self._state.partitions.get(name, ())))
        if not found:
            return
        if name in self._state.moving:
            log.info("%d partitions added to topic %s wait until it does not move", len(found), name)
            self._held.add(name)
            return
        placed = [self._directory.place(partition, self._own_id) for partition in found]
        await self._submit(TopicStored(name, topic.id, placed))

    def release(self) -> None:
        """Something was decided: what was held back may go on."""
        for name in self._held - self._state.moving.keys():
            self._held.discard(name)
            self.lookout.again(paths.topic(name))

    async def _look_at_deletions(self, watch: Watch) -> None:
        for name in await self._tree.children(paths.DELETE_TOPICS, watch) or []:
            topic = self._store.mirror.topics.get(name)
            if topic is None:
                await self._remove(paths.delete_topic(name))
            elif not topic.doomed:
                topic.doomed = True
                await self._submit(DeleteTopics([name]))

    async def _look_at_state(self, key: TopicPartition, watch: Watch) -> None:
        # The watch must be on before the reading, or a change in between would be missed.
        if await self._tree.get(paths.state(*key), watch) is not None:
            await self._read_state(key)

    async def _look_at_isr_changes(self, watch: Watch) -> None:
        for name in sorted(await self._tree.children(paths.ISR_CHANGES, watch) or []):
            path = f"{paths.ISR_CHANGES}/{name}"
            znode = await self._tree.get(path)
            if znode is None:
                continue
            with _passed_over(path):
                keys = [TopicPartition(*each) for each in decode_isr_changes(znode.data)]
                await asyncio.gather(*(self._read_state(key) for key in keys))
            await self._remove(path)

    async def _look_at_log_dir_events(self, watch: Watch) -> None:
        for name in sorted(await self._tree.children(paths.LOG_DIR_EVENTS, watch) or []):
            path = f"{paths.LOG_DIR_EVENTS}/{name}"
            znode = await self._tree.get(path)
            if znode is None:
                continue
            with _passed_over(path):
                self._on_log_dir_event(decode_log_dir_event(znode.data))
            await self._remove(path)

    async def _look_at_config_changes(self, watch: Watch) -> None:
        entities: dict[str, None] = {}
        for name in sorted(await self._tree.children(paths.CONFIG_CHANGES, watch) or []):
            znode = await self._tree.get(f"{paths.CONFIG_CHANGES}/{name}")
            if znode is not None:
                with _passed_over(f"{paths.CONFIG_CHANGES}/{name}"):
                    entities[decode_config_change(znode.data)] = None
        for entity in entities:
            resource = resource_of(entity)
            if resource is not None:
                with _passed_over(paths.config(entity)):
                    values = await self._store.read_config(entity)
                    if values is not None:
                        await self._submit(ConfigsStored(*resource, values))

    async def _look_at_elections(self, watch: Watch) -> None:
        znode = await self._tree.get(paths.PREFERRED_ELECTION, watch)
        if znode is None:
            return
        with _passed_over(paths.PREFERRED_ELECTION):
            keys = [TopicPartition(*each) for each in named_partitions(decode_object(znode.data))]
            log.info(
                "preferred election of %d partitions, ordered by %s", len(keys), paths.PREFERRED_ELECTION
            )
            await self._submit(ElectLeaders(ElectionType.PREFERRED, keys))
        await self._remove(paths.PREFERRED_ELECTION)

    async def _read_state(self, key: TopicPartition) -> None:
        seen = await read_partition(self._tree, self._store.mirror, key)
        if seen is not None:
            self._seen.append(seen)

    async def _report(self) -> None:
        """End of a round: tell what was seen of ISRs, in one event."""
        if self._seen:
            seen, self._seen = self._seen, []
            await self._submit(PartitionsStored(seen))

    def report(self, partitions: Sequence[Partition]) -> None:
        """These are stored otherwise than was decided."""
        self._seen += partitions
        self.lookout.wake()

    async def _remove(self, path: str) -> None:
        try:
            await self._store.write([Delete(path)])
        except ConflictError:
            log.debug("%s is gone already", path)


class _passed_over:  # noqa: N801 (read as a statement)
    """What makes no sense in the znode is a line in the log, and does not disturb the rest."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if not isinstance(error, ZnodeError):
            return False
        log.error("%s is passed over: %s", self._path, error)
        return True
