"""One term as controller of real brokers: effects to requests, ZooKeeper to events.

Brokers are told what is stored, never what was only decided: the ISR and the version of a partition are those of its state
znode, and a broker that joins is told the cache.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from backends.broker_commands.links import BrokerLinks
from backends.client.channel import Connect, connect
from backends.zookeeper.admin.watcher import AdminWatcher, PlanFormat
from backends.zookeeper.session.tree import Tree, Watch, ZookeeperError
from backends.zookeeper.store.store import DeposedError, ZkStore
from backends.zookeeper.term.broker_protocol import BrokerProtocol
from backends.zookeeper.term.brokers import BrokerDirectory, advertised_brokers
from backends.zookeeper.term.election import Candidate, is_controller
from backends.zookeeper.term.isr_refresh import refresh
from backends.zookeeper.term.observer import Observer
from backends.zookeeper.term.registrar import Registrar
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.rejections import Rejections
from common.clock import Clock
from common.tasks import cancel
from controller.messages.effects import BrokerJoined, Effect, Publish, TopicDeleted
from controller.messages.event import Event, Reply
from controller.messages.events import ControllerStarted
from controller.model.cluster import Partition
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.update_metadata_request import UpdateMetadataBroker

log = logging.getLogger(__name__)


class TermContext(NamedTuple):
    """What a term is run with. `listener` names the listener at which brokers are reached; "" for the first with `security`."""

    tree: Tree
    store: ZkStore
    candidate: Candidate
    protocol: BrokerProtocol
    rejections: Rejections
    listener: str = ""
    security: str = "PLAINTEXT"
    """The protocol of that listener, where it has no name."""
    form: PlanFormat = PlanFormat()


class ZookeeperCluster:
    """Implements `controller.ports.Backend`. `on_end` is told once why the term is over, when it is not stopped.

    Events of clients and brokers come in by `submit`; the argument of that name has the controller decide.
    """

    def __init__(
        self,
        office: TermContext,
        state: State,
        submit: SubmitEvent,
        on_end: Callable[[BaseException], None],
        *,
        connect: Connect = connect,
        clock: Clock | None = None,
    ) -> None:
        self._office, self._on_end = office, on_end
        self._state, self._decide = state, submit
        self._store = office.store
        self._directory = BrokerDirectory(office.listener, office.security)
        self._links = BrokerLinks(
            state,
            self.submit,
            lambda: office.candidate.id,
            connect=connect,
            clock=clock,
            versions=office.protocol.versions._replace(fenced_stops=False),
            partitions=self._stored_partitions,
            brokers=self._told_brokers,
        )
        self._observer = Observer(
            office.tree,
            office.store,
            self._directory,
            office.candidate,
            state,
            self.submit,
            office.rejections,
            self._log_dir_failed,
        )
        known = self._directory
        self._registrar = Registrar(office.tree, office.store, office.candidate, known, connect, clock)
        self._observer.on_brokers = self._registrar.look
        state.refused_topic = self._observer.refused.__contains__
        self._admin = AdminWatcher(office.tree, office.store, state, submit, office.form, office.rejections)
        self._watching: list[asyncio.Task[None]] = []

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the controller decide on the event, by the ISRs that are stored now; its reply. Raises ZookeeperError."""
        if not self._office.protocol.isr_by_request:
            news = await refresh(self._store, self._state, event)
            if news is not None:
                await self._decide(news)
        return await self._decide(event)

    def perform(self, effects: Sequence[Effect]) -> None:
        """See `Backend.perform`."""
        advertised_brokers = [self._told(effect) for effect in effects]
        if any(isinstance(effect, BrokerJoined) for effect in effects):
            advertised_brokers += self._store.dropped(self._state.live)
        self._links.perform(advertised_brokers)

    async def start(self) -> None:
        """Take over: the brokers that are registered are alive, and what is under way goes on."""
        self._links.on_dropped = self._store.confirm
        await self._admin.begin()
        brokers = await self._observer.read_brokers()
        self._directory.changes(brokers)
        await self._decide(ControllerStarted([self._directory.reached(each) for each in brokers]))
        self._store.on_merged, self._store.on_written = self._observer.report, self._written
        for topic, number in self._state.in_flight:
            self._follow(self._state.partitions[topic][number])
        self._observer.start()
        self._observer.watch_loop.set(paths.CONTROLLER, self._look_at_office)
        self._admin.start()
        for watching in (self._observer.watch_loop, self._admin, self._registrar):
            self._watching.append(asyncio.create_task(self._watch(watching.run), name="zookeeper-watching"))

    async def stop(self) -> None:
        """Send and look no more."""
        await cancel(*self._watching)
        await self._links.close()

    def _written(self) -> None:
        self._observer.release()
        self._admin.wake()

    async def _watch(self, run: Callable[[], Awaitable[None]]) -> None:
        try:
            await run()
        except ZookeeperError as error:
            self._on_end(error)
        except Exception as error:
            log.exception("the watching of ZooKeeper ended by an error")
            self._on_end(ZookeeperError(f"{type(error).__name__} in what watches ZooKeeper"))

    async def _look_at_office(self, watch: Watch) -> None:
        if not await is_controller(self._office.tree, watch):
            raise DeposedError("another controller was elected")

    def _told(self, effect: Effect) -> Effect:
        """The effect as brokers are told of it: what is stored."""
        match effect:
            case Publish():
                stored = self._store.stored(effect.partition)
                self._follow(stored)
                return effect._replace(partition=stored)
            case TopicDeleted():
                self._observer.forget(effect.topic)
        return effect

    def _follow(self, partition: Partition) -> None:
        if not self._office.protocol.isr_by_request:
            self._observer.follow(partition)

    def _log_dir_failed(self, broker: int) -> None:
        """Have the broker say which of its replicas are offline: it answers so to LeaderAndIsr."""
        log.warning("broker %d has lost a log directory", broker)
        if broker in self._state.live:
            self.perform([BrokerJoined(broker)])

    def _stored_partitions(self, _: State) -> Iterator[Partition]:
        topics = self._store.cache.topics
        for name in list(topics):
            index = 0
            while (topic := topics.get(name)) is not None and index < len(topic.partitions):
                partition = topic.partitions[index]
                if partition.leader_epoch >= 0:
                    yield partition
                index += 1

    def _told_brokers(self, state: State) -> Sequence[UpdateMetadataBroker]:
        """Live ones, and ourselves: clients are to find the controller among the brokers."""
        live = [each for each in self._directory.told() if each.id in state.live]
        us = self._office.candidate
        return [*live, advertised_brokers(us.id, us.registration._replace(rack=self._directory.rack))]
