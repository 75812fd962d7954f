"""A controller with a store in memory, a backend and a manual clock."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from backends.embedded.cluster import EmbeddedBrokers, Settings
from backends.memory import MemoryStore
from common.clock import ManualClock, settle
from controller.machine import decide
from controller.messages.event import Event, Reply
from controller.messages.events import (
    AlterConfigs,
    AlterReassignments,
    CreateTopics,
    DeleteTopics,
    NewTopic,
    PeriodChanged,
    ResourceChanges,
)
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.cluster import Partition, Reassignment, Replicas, ResourceType, TopicPartition
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.modes import EMBEDDED
from controller.state.state import State
from server.counters import Counters
from server.driver.driver import Driver
from tests.backends.local import LocalNetwork
from tests.builders import key

SETTINGS = Settings(partition_bytes=1_000_000, network_bytes_per_second=1_000_000.0)
"""A replica is copied in a second if its leader copies no other one."""


_IDS = itertools.count()
"""A topic that is created again has another id, as in Kafka."""


class Harness:
    """A controller with any backend, from a start to a stop or crash."""

    clock: ManualClock
    store: MemoryStore
    state: State
    driver: Driver
    failures: list[BaseException]
    settings: Settings
    at_once: float
    """Maximum seconds of a reassignment that copies no data."""

    def now_ns(self) -> int:
        """Return the time of decisions. The clock starts at midnight (UTC)."""
        return (int(self.clock.now() * 1000) + 1) * 1_000_000

    async def do(self, event: Event[Reply]) -> Reply:
        reply = await self.driver.submit(event)
        await settle()
        return reply

    async def configure(self, **values: str | None) -> None:
        """Set cluster-wide configs; None removes a config."""
        await self.configure_resource(ResourceType.BROKER, "", **values)

    async def configure_resource(self, resource: ResourceType, name: str, **values: str | None) -> None:
        """Set configs of a topic or a broker; None removes a config."""
        changes = [
            ConfigChange(name, ConfigOp.DELETE if value is None else ConfigOp.SET, value)
            for name, value in values.items()
        ]
        (outcome,) = await self.do(AlterConfigs([ResourceChanges(resource, name, changes)]))
        assert outcome.ok, outcome.message

    async def alter(self, rows: Mapping[str, Sequence[int] | None]) -> None:
        """Order targets, None to cancel. Fails if a row is refused."""
        assert [outcome.message for outcome in await self.try_alter(rows) if not outcome.ok] == []

    async def try_alter(self, rows: Mapping[str, Sequence[int] | None]) -> list[Outcome]:
        """Order targets, None to cancel; return the outcome of each row."""
        topics = [
            AlterTopic(key(name).topic, [AlterRow(key(name).partition, None if to is None else tuple(to))])
            for name, to in rows.items()
        ]
        reply: AlterReply = await self.do(AlterReassignments(topics))
        assert reply.outcome.ok
        return [outcome for topic in reply.topics for _, outcome in topic.rows]

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def at_minute(self, minute: int) -> None:
        """Advance the clock to this minute of the day, at which a period of the schedule starts or ends."""
        await self.advance(60 * minute - self.clock.now())
        await self.do(PeriodChanged())

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> float:
        """Advance the clock until `condition` is true; return the seconds that took."""
        began = self.clock.now()
        while not condition():
            assert self.clock.now() - began < seconds, f"not true within {seconds} s"
            await self.clock.advance(self.settings.tick_seconds)
        return self.clock.now() - began

    async def until_idle(self, seconds: float = 60.0) -> float:
        """Advance the clock until there are no reassignments and all requests are answered."""
        took = await self.until(lambda: not self.state.orders.reassignments, seconds)
        await settle()
        return took

    def __getitem__(self, name: str) -> Partition:
        topic, index = key(name)
        return self.state.cluster.partitions[topic][index]

    def replicas(self, name: str) -> Replicas:
        return self[name].replicas

    def reassignment(self, name: str) -> Reassignment | None:
        return self.state.orders.reassignments.get(key(name))


class EmbeddedHarness(Harness):
    """A controller with the embedded cluster."""

    at_once = 0.0

    def __init__(self, store: MemoryStore | None = None, settings: Settings = SETTINGS) -> None:
        self.clock = ManualClock()
        self.store = store or MemoryStore()
        self.settings = settings
        self.state = State(mode=EMBEDDED)
        self.state.apply(self.store.load())
        self.failures: list[BaseException] = []
        self.driver = Driver(
            self.state,
            self.store,
            decide,
            stats=Counters(),
            on_failure=self.failures.append,
            now_ns=self.now_ns,
        )
        self.network = LocalNetwork(self.state, self.driver)
        self.cluster = EmbeddedBrokers(
            settings,
            self.state,
            self.driver.submit,
            self.network.listen,
            connect=self.network.connect,
            clock=self.clock,
            on_failure=self.failures.append,
        )

    async def start(self) -> "EmbeddedHarness":
        self.driver.start(self.cluster)
        await self.cluster.start()
        await settle()
        return self

    def progress(self, name: str) -> dict[int, int]:
        """Return the bytes of the partition by running broker that has a log of it."""
        has = {number: self.cluster.arrived(key(name), number) for number in self.cluster.brokers}
        return {number: have for number, have in has.items() if have is not None}

    async def stop(self) -> None:
        await self.cluster.stop()
        await self.driver.stop()
        self.network.off_loop.close()
        assert self.failures == []

    async def restarted(self, commits: int | None = None) -> "EmbeddedHarness":
        """Kill the process, and start a controller with the records of the first `commits` commits."""
        survivor = MemoryStore(self.store.commits[:commits])
        self.store.release()
        await self.stop()
        return await EmbeddedHarness(survivor, self.settings).start()

    @property
    def commits(self) -> int:
        """Number of durable commits."""
        return len(self.store.commits)

    async def survivor(self, commits: int) -> "EmbeddedHarness":
        """Start another controller as if this one had been killed after `commits` commits."""
        return await EmbeddedHarness(MemoryStore(self.store.commits[:commits]), self.settings).start()

    async def having(self, partitions: Mapping[str, Sequence[int]], **configs: str) -> None:
        """Create topics. Keys are partition names such as `foo-0`."""
        topics: dict[str, dict[int, Replicas]] = {}
        for name, replicas in partitions.items():
            topic, index = key(name)
            topics.setdefault(topic, {})[index] = tuple(replicas)
        new = [
            NewTopic(
                name,
                f"{name} {next(_IDS)}".encode().ljust(16, b"\0")[:16],
                assignments=rows,
                configs={config.replace("_", "."): value for config, value in configs.items()},
            )
            for name, rows in topics.items()
        ]
        assert all(created.outcome.ok for created in await self.do(CreateTopics(new)))

    async def delete(self, *topics: str) -> None:
        assert all(outcome.ok for _, outcome in await self.do(DeleteTopics(topics)))

    async def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        """Stop the broker; advance the clock during its controlled shutdown."""
        task = asyncio.create_task(self.cluster.stop_broker(broker, controlled=controlled))
        await settle()
        while not task.done():
            await self.clock.advance(self.settings.tick_seconds)
        await task

    def hosts(self, name: str) -> set[int]:
        """Return the brokers that have a log of the partition."""
        partition: TopicPartition = key(name)
        return {n for n, b in self.cluster.brokers.items() if b.log_dirs.find(partition) is not None}

    def leaders(self, name: str) -> set[int]:
        """Return the brokers that act as the leader of the partition."""
        partition = key(name)
        return {
            number
            for number, broker in self.cluster.brokers.items()
            if partition in broker.replicas and broker.replicas[partition].leader == number
        }

    def sent(self, kind: type, brokers: Iterable[int] = range(1, 100)) -> list[Any]:
        """Return the requests of this class that were sent to these brokers."""
        ports = {9091 + broker for broker in brokers}
        return [message for port, message in self.network.requests if port in ports and type(message) is kind]
