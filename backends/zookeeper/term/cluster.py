"""The brokers of a ZooKeeper-mode cluster during a term.

Effects become requests, changes in ZooKeeper become events.

Brokers are sent only what is stored in ZooKeeper, never what is only decided. The ISR and the partition epoch
in a request are those of the state znode, and a broker that joins gets the content of the znode cache.

Below inter-broker protocol 2.7, leaders store their ISRs themselves and then notify the controller. A
notification may be a minute late, and is lost when the leader crashes. With an outdated ISR, an election
could fail although an eligible replica exists. So ISRs are read before a decision that depends on them
(Kafka: PartitionStateMachine).

The znode of a topic that is being deleted stays until all of its replicas are gone, and no broker is told of
its partitions: LeaderAndIsr would create the replicas again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, assert_never

from backends.broker_commands.links import BrokerLinks
from backends.client.channel import Connect, connect
from backends.zookeeper.admin.watcher import AdminWatcher, PlanFormat
from backends.zookeeper.session.tree import Tree, Watch, ZookeeperError
from backends.zookeeper.store.store import DeposedError, ZkStore
from backends.zookeeper.term.broker_protocol import BrokerProtocol
from backends.zookeeper.term.election import ControllerCandidate, is_controller
from backends.zookeeper.term.observer import Observer
from backends.zookeeper.term.registered_brokers import BrokerDirectory, metadata_broker
from backends.zookeeper.term.registrar import Registrar
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections
from common.clock import Clock
from common.tasks import cancel, spawn
from controller.messages.effects import (
    TOPIC_DELETED,
    BrokerCommand,
    BrokerJoined,
    BrokerLeft,
    ConfigsChanged,
    ControllerEffect,
    DropReplica,
    Publish,
    TopicDeleted,
)
from controller.messages.event import AnyEvent, Event, Reply
from controller.messages.events import (
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    ElectLeaders,
    LogDirFailed,
    PartitionsStored,
    RebalanceLeaders,
    ReplicasDeleted,
)
from controller.model.cluster import Partition, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.update_metadata_request import UpdateMetadataBroker

log = logging.getLogger(__name__)


class TermContext(NamedTuple):
    """What a term needs.

    `listener` is the name of the brokers' listener for the controller; "" for the first with `security`.
    """

    tree: Tree
    store: ZkStore
    candidate: ControllerCandidate
    protocol: BrokerProtocol
    rejections: Rejections
    refused: set[str]
    """Names of the topics whose znodes could not be read; `ClusterState` refuses to create them."""
    listener: str = ""
    security: str = "PLAINTEXT"
    """The security protocol of the brokers' listener, if that has no name."""
    plan_format: PlanFormat = PlanFormat()


class ZookeeperCluster:
    """Implements `controller.ports.Backend`. Clients' and brokers' events are submitted here.

    `submit` passes an event to the controller. `on_end` is called once with the reason when the term ends,
    unless it is stopped.
    """

    def __init__(
        self,
        context: TermContext,
        state: State,
        submit: SubmitEvent,
        on_end: Callable[[BaseException], None],
        *,
        connect: Connect = connect,
        clock: Clock | None = None,
    ) -> None:
        self._context, self._on_end = context, on_end
        self._state, self._submit_to_controller = state, submit
        self._store = context.store
        self._directory = BrokerDirectory(context.listener, context.security)
        self._links = self._broker_links(connect, clock)
        self._observer = Observer(
            context.tree,
            context.store,
            self._directory,
            context.candidate,
            state,
            self.submit,
            context.rejections,
            self._log_dir_failed,
        )
        self._registrar = Registrar(
            context.tree, context.store, context.candidate, self._directory, connect, clock
        )
        self._observer.on_brokers = self._registrar.brokers_changed
        self._observer.refused = context.refused
        self._admin = AdminWatcher(
            context.tree, context.store, state, submit, context.plan_format, context.rejections
        )
        self._deletions = TopicDeletions(state, submit)
        self._tasks: list[asyncio.Task[None]] = []

    def _broker_links(self, connect: Connect, clock: Clock | None) -> BrokerLinks:
        return BrokerLinks(
            self._state,
            self.submit,
            lambda: self._context.candidate.id,
            connect=connect,
            clock=clock,
            versions=self._context.protocol.versions._replace(fenced_stops=False),
            partitions=self._stored_partitions,
            brokers=self._metadata_brokers,
        )

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit an event; before it, the affected ISRs if leaders store them themselves.

        Raises ZookeeperError.
        """
        if not self._context.protocol.isr_by_request:
            stored = await refresh_isrs(self._store, self._state, event)
            if stored is not None:
                await self._submit_to_controller(stored)
        return await self._submit_to_controller(event)

    def perform(self, effects: Sequence[ControllerEffect]) -> None:
        """See `Backend.perform`."""
        commands: list[BrokerCommand] = []
        for effect in effects:
            match effect:
                case Publish() if effect.partition.topic in self._deletions.topics:
                    pass  # It would create the replicas again.
                case Publish():
                    # Brokers get the partition as it is stored.
                    stored = self._store.stored(effect.partition)
                    self._follow(stored)
                    commands.append(effect._replace(partition=stored))
                case BrokerJoined():
                    commands += [effect, *self._deletions.left_at(effect.broker)]
                case DropReplica() | BrokerLeft():
                    commands.append(effect)
                    self._deletions.began(effect)
                case TopicDeleted():
                    self._observer.forget(effect.topic)
                    self._deletions.topics.discard(effect.topic)
                case ConfigsChanged():
                    pass  # The configs are in ZooKeeper, where brokers read them.
                case _:
                    assert_never(effect)
        if any(isinstance(effect, BrokerJoined) for effect in effects):
            commands += self._store.dropped(self._state.cluster.live)
        self._links.perform(commands)

    async def start(self) -> None:
        """Take over the cluster: submit the registered brokers, watch what moves, and start all watches."""
        self._links.on_dropped = self._dropped
        halted = await self._admin.begin()
        brokers = await self._observer.registered_brokers()
        self._directory.update(brokers)
        registrations = [self._directory.broker_registration(each) for each in brokers]
        await self._submit_to_controller(ControllerStarted(registrations, halted))
        for number in sorted(self._state.cluster.unlisted_brokers):
            log.warning("broker %d has replicas but is not registered: it gets no new partitions", number)
        self._store.on_merged, self._store.on_written = self._observer.report, self._on_written
        for topic, number in self._state.in_flight:
            self._follow(self._state.cluster.partitions[topic][number])
        self._observer.start()
        self._observer.watch_loop.add(paths.CONTROLLER, self._check_is_controller)
        self._admin.start()
        for runner in (self._observer.watch_loop, self._admin, self._registrar):
            self._tasks.append(asyncio.create_task(self._run(runner.run), name="zookeeper-watches"))

    async def stop(self) -> None:
        """Stop watching, and close the connections to brokers."""
        await cancel(*self._tasks, *self._deletions.tasks)
        await self._links.close()

    def _dropped(self, broker: int, drops: Sequence[DropReplica]) -> None:
        self._store.confirm(broker, drops)
        self._deletions.confirm(broker, drops)

    def _on_written(self) -> None:
        self._observer.release_delayed()
        self._admin.wake()

    async def _run(self, run: Callable[[], Awaitable[None]]) -> None:
        """Run a watch loop; an error ends the term."""
        try:
            await run()
        except ZookeeperError as error:
            self._on_end(error)
        except Exception as error:
            log.exception("the watches of ZooKeeper ended with an error")
            self._on_end(ZookeeperError(f"{type(error).__name__} in the watches of ZooKeeper"))

    async def _check_is_controller(self, watch: Watch) -> None:
        if not await is_controller(self._context.tree, watch):
            raise DeposedError("another controller was elected")

    def _follow(self, partition: Partition) -> None:
        if not self._context.protocol.isr_by_request:
            self._observer.follow(partition)

    def _log_dir_failed(self, broker: int) -> None:
        """Send LeaderAndIsr for all partitions: the response contains an error for each offline replica."""
        log.warning("broker %d has lost a log directory", broker)
        if broker in self._state.cluster.live:
            self.perform([BrokerJoined(broker)])

    def _stored_partitions(self, _: State) -> Iterator[Partition]:
        """Yield the partitions with a leader epoch. The cache may change during the iteration."""
        topics = self._store.cache.topics
        for name in list(topics):
            index = 0
            if name in self._deletions.topics:
                continue
            while (topic := topics.get(name)) is not None and index < len(topic.partitions):
                partition = topic.partitions[index]
                if partition.leader_epoch >= 0:
                    yield partition
                index += 1

    def _metadata_brokers(self, state: State) -> Sequence[UpdateMetadataBroker]:
        """Return the live brokers and the controller.

        Clients look for the controller in the list of brokers.
        """
        live = [each for each in self._directory.metadata_brokers() if each.id in state.cluster.live]
        own = self._context.candidate
        registration = own.registration._replace(rack=self._directory.controller_rack)
        return [*live, metadata_broker(own.id, registration)]


class TopicDeletions:
    """The deletions of one term. The controller keeps what is left (`ClusterState.dropping`)."""

    def __init__(self, state: State, submit: SubmitEvent) -> None:
        self._state, self._submit = state, submit
        self.topics: set[str] = set()
        """Topics whose drops were sent, until the controller has deleted them."""
        self.tasks: set[asyncio.Task[None]] = set()

    def began(self, effect: DropReplica | BrokerLeft) -> None:
        """Note the topic of a drop that deletes it."""
        if isinstance(effect, DropReplica) and effect.leader_epoch == TOPIC_DELETED:
            self.topics.add(effect.topic)

    def left_at(self, broker: int) -> Iterator[DropReplica]:
        """Yield the drops that a broker with a new connection gets again, after the cluster's state."""
        for topic in sorted(self.topics):
            for partition, at in sorted(self._state.cluster.dropping.get(topic, ())):
                if at == broker:
                    yield DropReplica(topic, partition, (broker,), TOPIC_DELETED)

    def confirm(self, broker: int, drops: Sequence[DropReplica]) -> None:
        """Tell the controller which replicas the broker has deleted for good."""
        keys = [
            TopicPartition(each.topic, each.partition) for each in drops if each.leader_epoch == TOPIC_DELETED
        ]
        if keys:
            task = spawn(self._submitted(ReplicasDeleted(broker, keys)), "deleted-replicas")
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _submitted(self, event: ReplicasDeleted) -> None:
        await self._submit(event)


BATCH = 500
"""Znodes that are read with pipelined requests."""


def affected_partitions(state: State, event: AnyEvent) -> Iterator[TopicPartition]:
    """Yield the partitions whose ISRs affect the decision on this event."""
    match event:
        case ControlledShutdown(broker) | BrokerStopped(broker):
            yield from _hosted(state, broker)
        case BrokerStarted(registration) if registration.id in state.cluster.live:
            # The broker has restarted before its session ended. The controller stops it first, which elects
            # new leaders.
            yield from _hosted(state, registration.id)
        case LogDirFailed(_, keys):
            yield from keys
        case ElectLeaders(_, keys) if keys is not None:
            yield from keys
        case ElectLeaders() | RebalanceLeaders():
            yield from (
                each.key for each in state.cluster.all_partitions() if each.leader != each.replicas[0]
            )


async def refresh_isrs(store: ZkStore, state: State, event: AnyEvent) -> PartitionsStored | None:
    """Read the affected ISRs.

    Return the event to submit first, None if nothing has changed. Raises ZookeeperError.
    """
    keys = list(affected_partitions(state, event))
    changed: list[Partition] = []
    for start in range(0, len(keys), BATCH):
        changed += await store.read_partitions(keys[start : start + BATCH])
    return PartitionsStored(changed) if changed else None


def _hosted(state: State, broker: int) -> Iterator[TopicPartition]:
    return (each.key for each in state.cluster.all_partitions() if broker in each.replicas)
