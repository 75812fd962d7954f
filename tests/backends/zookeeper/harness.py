"""The contract's harness in ZooKeeper.

The real controller, store and backend on znodes in memory, before embedded brokers.

The brokers report ISRs by AlterPartition, or store them by themselves as Kafka's did before inter-broker
protocol 2.7.
"""

import asyncio
from typing import Any

from backends.embedded.cluster import EmbeddedBrokers, Settings
from backends.zookeeper.admin.watcher import PlanFormat
from backends.zookeeper.session.tree import ConflictError, Create, Delete, Set, ensure
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.multis import fits_topic
from backends.zookeeper.store.records import REDO, chunk_parents
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.term.broker_protocol import parse_protocol
from backends.zookeeper.term.cluster import TermContext, ZookeeperCluster
from backends.zookeeper.term.election import ControllerCandidate, run_election
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import Rejections, encode
from backends.zookeeper.znodes.formats import (
    Endpoint,
    Registration,
    decode_state,
    encode_broker,
    encode_state,
)
from common.clock import settle
from common.error_codes import ErrorCode
from controller.machine import decide
from controller.messages.effects import ConfigsChanged, TopicDeleted
from controller.messages.event import Event
from controller.messages.events import BrokerRegistration, BrokerStarted, BrokerStopped, ControllerStarted
from controller.model.cluster import Partition
from controller.modes import ZOOKEEPER
from controller.state.cluster import ClusterState
from controller.state.state import State
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from server.counters import Counters
from server.driver.driver import Driver
from tests.backends.harness import SETTINGS, EmbeddedHarness
from tests.backends.local import LocalNetwork
from tests.backends.zookeeper.memory_tree import MemoryTree

OWN_ID = 1000
PORT = 9000
CANDIDATE = ControllerCandidate(
    OWN_ID, Registration((Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", PORT),))
)
NEW = "2.7"
OLD = "2.6"
BASE = ("/brokers/ids", "/brokers/topics", "/config/changes", "/config/topics", "/config/brokers",
        "/admin/delete_topics", "/isr_change_notification", "/log_dir_event_notification")  # fmt: skip


class ZookeeperHarness(EmbeddedHarness):
    """A controller's term on a memory tree, with embedded brokers.

    `survivor` starts the next controller after a crash.
    """

    def __init__(
        self,
        tree: MemoryTree | None = None,
        settings: Settings = SETTINGS,
        version: str = NEW,
        form: PlanFormat = PlanFormat(),  # noqa: B008 (immutable)
    ) -> None:
        super().__init__(None, settings)
        self.tree = tree or MemoryTree()
        self.version, self.form = version, form
        self.rejections = Rejections()
        self.zookeeper_cluster: ZookeeperCluster

    async def start(self) -> "ZookeeperHarness":
        await ensure(self.tree, *BASE, *chunk_parents(), REDO)
        for path in (paths.CONTROLLER, *(paths.broker(n) for n in range(1, 10))):
            if await self.tree.get(path) is not None:
                await self.tree.multi([Delete(path)])
        term = await run_election(self.tree, CANDIDATE, 0, lambda: None)
        assert term is not None
        protocol = parse_protocol(self.version)
        loaded = await load(self.tree, self.rejections, OWN_ID)
        self.zk_store = ZkStore(self.tree, term, loaded, with_topic_ids=protocol.topic_ids)
        refused: set[str] = set()
        self.state = State(ZOOKEEPER, ClusterState(OWN_ID, refused.__contains__, fits_topic))
        self.state.apply(self.zk_store.load())
        self._wire(
            TermContext(
                self.tree, self.zk_store, CANDIDATE, protocol, self.rejections, refused, plan_format=self.form
            )
        )
        self.driver.start(self)
        await self.cluster.start()
        await settle()
        return self

    def _wire(self, context: TermContext) -> None:
        state, clock = self.state, self.clock
        failed = self.failures.append
        self.driver = Driver(
            state, self.zk_store, decide, stats=Counters(), on_failure=failed, now_ns=self.now_ns
        )
        if context.protocol.isr_by_request:
            self.network = LocalNetwork(state, self.driver)
        else:
            self.network = _IsrStoringNetwork(state, self.driver, self.tree)
        self.network.listening[PORT] = _ControllerPort(OWN_ID)  # type: ignore[assignment]
        listen, connect = self.network.listen, self.network.connect
        self.cluster = EmbeddedBrokers(
            self.settings, state, self._submit, listen, connect=connect, clock=clock
        )
        self.zookeeper_cluster = ZookeeperCluster(
            context, state, self.driver.submit, failed, connect=connect, clock=clock
        )

    async def stop(self) -> None:
        await self.zookeeper_cluster.stop()
        await super().stop()
        await self.zk_store.close()

    def perform(self, effects: Any) -> None:
        """Pass the effects to the backend under test, and those that the embedded brokers need to these."""
        self.zookeeper_cluster.perform(effects)
        self.cluster.perform([each for each in effects if isinstance(each, ConfigsChanged | TopicDeleted)])

    @property
    def commits(self) -> int:
        return len(self.tree.log)

    async def restarted(self, commits: int | None = None) -> "ZookeeperHarness":
        """Kill the controller, and start another on the tree of the first `commits` commits."""
        again = await self.survivor(self.commits if commits is None else commits)
        await self.stop()
        return again

    async def survivor(self, commits: int) -> "ZookeeperHarness":
        return await ZookeeperHarness(
            self.tree.survived(commits), self.settings, self.version, self.form
        ).start()

    async def _submit(self, event: Event[Any]) -> Any:
        """Turn registration events of embedded brokers into znodes, from which the observer makes events."""
        match event:
            case ControllerStarted(brokers):
                epochs = {each.id: await self._register(each) for each in brokers}
                await self.zookeeper_cluster.start()
                return epochs
            case BrokerStarted(broker):
                epoch = await self._register(broker)
                await self._until(lambda: broker.id in self.state.cluster.live)
                return epoch
            case BrokerStopped(number):
                await self.tree.multi([Delete(paths.broker(number))])
                await self._until(lambda: number not in self.state.cluster.live)
                return None
        return await self.zookeeper_cluster.submit(event)

    async def _register(self, broker: BrokerRegistration) -> int:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", broker.host, broker.port)
        data = encode_broker(Registration((endpoint,), broker.rack), 0)
        await self.tree.multi([Create(paths.broker(broker.id), data, ephemeral=True)])
        return self.tree.nodes[paths.broker(broker.id)].czxid

    async def _until(self, holds: Any) -> None:
        while not holds():
            assert self.failures == []
            await asyncio.sleep(0)


class _ControllerPort:
    """Stands for the controller's own listener."""

    def __init__(self, number: int) -> None:
        self.id = number


class _IsrStoringNetwork(LocalNetwork):
    """A network on which leaders store their ISRs in ZooKeeper.

    AlterPartition becomes a write of the state znode.
    """

    def __init__(self, state: State, driver: Driver, tree: MemoryTree) -> None:
        super().__init__(state, driver)
        self.tree = tree

    async def answer(self, port: int, message: tuple[Any, ...], version: int) -> Any:
        if port != PORT or not isinstance(message, AlterPartitionRequest):
            return await super().answer(port, message, version)
        await asyncio.sleep(0)
        topics = [
            TopicData(
                topic.topic_name, partitions=[self._store(topic.topic_name, row) for row in topic.partitions]
            )
            for topic in message.topics
        ]
        return AlterPartitionResponse(topics=topics)

    def _store(self, topic: str, row: Any) -> PartitionData:
        path = paths.state(topic, row.partition_index)
        znode = self.tree.nodes.get(path)
        if znode is None:
            return PartitionData(row.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        state = decode_state(znode.data)
        if state.leader_epoch != row.leader_epoch:
            return PartitionData(row.partition_index, ErrorCode.FENCED_LEADER_EPOCH)
        stored = Partition(
            topic, row.partition_index, (), tuple(row.new_isr), state.leader, state.leader_epoch
        )
        try:
            data = encode_state(stored, state.controller_epoch)
            self.tree.write(
                [Set(path, data, row.partition_epoch), _isr_notification(topic, row.partition_index)],
                session=2,
            )
        except ConflictError:
            return PartitionData(row.partition_index, ErrorCode.INVALID_UPDATE_VERSION)
        return PartitionData(
            row.partition_index,
            0,
            state.leader,
            state.leader_epoch,
            stored.isr,
            partition_epoch=znode.version + 1,
        )


def _isr_notification(topic: str, partition: int) -> Create:
    """Return an ISR notification.

    Kafka's brokers write one some seconds after the ISR; here both are one multi.
    """
    data = encode({"version": 1, "partitions": [{"topic": topic, "partition": partition}]})
    return Create(f"{paths.ISR_CHANGES}/isr_change_", data, sequence=True)
