"""The embedded cluster: its brokers, their replication, and the controller's connections to the brokers.

Only data and time are simulated; requests between controller and brokers are real. After a restart of the
process, replicas in the ISR have all data, and other replicas have none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple, Protocol, assert_never

from backends.broker_commands.links import BrokerLinks
from backends.client.channel import Connect, connect
from backends.disk_moves.mover import DiskMover
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.controller_requests import IsrReporter, controlled_shutdown
from backends.embedded.latency import EmbeddedProbes, LatencyModel
from backends.embedded.log_dirs import LogDirs, describing_log_dirs
from backends.embedded.own_directories import OwnDirectories
from backends.embedded.replication import Fetch, Replication, Throttles, Traffic, Volume
from backends.measuring.flows import FlowMeter
from backends.measuring.pace import PaceMeasurer
from backends.measuring.sizes import CHECK_SECONDS, Received, StallWatch
from common.clock import Clock, RealClock
from common.tasks import cancel, in_steps, spawn
from controller.execution.cordons import cordoned_dirs
from controller.messages.effects import (
    BrokerCommand,
    BrokerJoined,
    BrokerLeft,
    ConfigsChanged,
    ControllerEffect,
    DropReplica,
    Publish,
    TopicDeleted,
)
from controller.messages.events import (
    BrokerRegistration,
    BrokerStarted,
    BrokerStopped,
    ControllerStarted,
    LogDirFailed,
    Stalled,
)
from controller.model.cluster import ResourceType, TopicPartition
from controller.model.configs import PARTITION_BYTES, PRODUCE_RATE
from controller.model.replicas import StoredReplicas
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes are in bytes, rates in bytes per second.

    The network's rate applies to each broker and each direction.
    """

    brokers: int = 6
    racks: int = 3
    log_dirs: int = 2
    partition_bytes: int = 10 * MIB
    """Size of a partition when this process first uses it."""
    produce_bytes_per_second: float = 0.0
    """Rate at which producers write to each partition."""
    network_bytes_per_second: float = 5.0 * MIB
    disk_bytes_per_second: float = 50.0 * MIB
    """Rate of moves between log directories of one broker."""
    replica_lag_time_seconds: float = 30.0
    """How long a follower may be behind before it leaves the ISR (Kafka: replica.lag.time.max.ms)."""
    tick_seconds: float = 0.05

    def rack(self, broker: int) -> str:
        """Return the broker's rack: `rack-a`, `rack-b`, … in turn."""
        return f"rack-{chr(ord('a') + (broker - 1) % self.racks)}"


class Listener(Protocol):
    """A broker's listener."""

    host: str
    port: int

    async def close(self) -> None:
        """Stop listening and close the connections."""
        ...


class _Running(NamedTuple):
    listener: Listener
    reporter: asyncio.Task[None]


Listen = Callable[[EmbeddedBroker], Awaitable[Listener]]
"""Opens a broker's listener, with the same port at each start of the broker. Raises OSError."""


class EmbeddedBrokers:
    """Implements `controller.ports.Backend`.

    Broker ids start at 1. All brokers run when `start` has returned.

    `on_failure` is called when replication has ended with an unexpected error.
    """

    def __init__(
        self,
        settings: Settings,
        state: State,
        submit: SubmitEvent,
        listen: Listen,
        *,
        connect: Connect = connect,
        clock: Clock | None = None,
        on_failure: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self.settings, self._on_failure = settings, on_failure
        self._state, self._submit, self._listen, self._connect = state, submit, listen, connect
        self._clock = clock or RealClock()
        self._throttles = Throttles(state)
        self._volumes: dict[str, Volume] = {}
        self._links = BrokerLinks(state, submit, self._controller_id, connect=connect, clock=self._clock)
        self._replication = Replication(
            settings.network_bytes_per_second,
            self._throttles,
            self._volume,
            self._caught_up,
            self._clock.now(),
        )
        self.brokers = {number: self._broker(number) for number in range(1, settings.brokers + 1)}
        self._running: dict[int, _Running] = {}
        self._lagging: dict[int, float] = {}
        """Brokers that cannot keep up with their leaders, with the time since when, until they have left the
        ISRs."""
        self._ticking: asyncio.Task[None] | None = None
        self._stalls = StallWatch(state, self.received)
        self._latency = LatencyModel(settings.network_bytes_per_second)
        self._pace = PaceMeasurer(self._probes(), FlowMeter(state, self), state, submit, self._clock)
        self._disks = DiskMover(OwnDirectories(self.running), state, submit, self._clock)
        self._observing: list[asyncio.Task[None]] = []
        self._checked = self._clock.now()
        """When steps in flight were checked for progress."""
        self._switching = asyncio.Lock()
        """Held while a broker starts or stops, so that starts and stops do not overlap."""

    # ---- for the controller --------------------------------------------------------------------------------

    def perform(self, effects: Sequence[ControllerEffect]) -> None:
        """See `Backend.perform`."""
        commands: list[BrokerCommand] = []
        for effect in effects:
            match effect:
                case Publish() | DropReplica() | BrokerJoined() | BrokerLeft():
                    commands.append(effect)
                case TopicDeleted():
                    self._volumes.pop(effect.topic, None)
                case ConfigsChanged():
                    self._configs_changed(effect)
                case _:
                    assert_never(effect)
        if commands:
            self._links.perform(commands)

    # ---- for the API and tests -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Open all listeners and register all brokers. Raises OSError when a port cannot be opened."""
        try:
            registrations = [await self._open(broker) for broker in self.brokers.values()]
        except BaseException:
            await self.stop()
            raise
        epochs = await self._submit(ControllerStarted(registrations))
        for number, epoch in epochs.items():
            self.brokers[number].epoch = epoch
        self._ticking = spawn(self._run(), "embedded-replication", self._on_failure)
        self._observing = [
            spawn(self._pace.run(), "pace", self._on_failure),
            spawn(self._disks.run(), "embedded-disk-moves", self._on_failure),
        ]

    async def stop(self) -> None:
        """Stop all brokers without events for the controller."""
        await cancel(*filter(None, (self._ticking, *self._observing)))
        await self._links.close()
        for number in list(self._running):
            await self._close(number)

    async def start_broker(self, number: int) -> None:
        """Start a stopped broker, with full network speed. Raises ValueError when it runs or is unknown.

        It has the data from before its stop. Failed disks are replaced by empty ones.
        """
        async with self._switching:
            self._check_exists(number)
            if number in self._running:
                raise ValueError(f"broker {number} is running already")
            broker = self.brokers[number]
            broker.log_dirs.replace_failed()
            self._replication.networks[number].factor = 1.0
            self._lagging.pop(number, None)
            broker.epoch = await self._submit(BrokerStarted(await self._open(broker)))

    async def stop_broker(self, number: int, *, controlled: bool = True) -> None:
        """Stop a broker after a controlled shutdown, or at once as in a crash.

        Raises ValueError when it does not run.
        """
        async with self._switching:
            self._check_runs(number)
            if controlled:
                await controlled_shutdown(self.brokers[number], self._connect, self._clock)
            await self._close(number)
            await self._submit(BrokerStopped(number))

    def slow_broker(self, number: int, factor: float) -> None:
        """Multiply a running broker's network speed by `factor`: 0 is stuck, 1 is full speed.

        A broker that is slower than the producers of its leaders leaves the ISRs after
        `replica_lag_time_seconds`.
        """
        self._check_runs(number)
        if not factor >= 0:
            raise ValueError(f"the factor must be 0 or more, not {factor}")
        broker, network = self.brokers[number], self._replication.networks[number]
        network.factor = factor
        if factor <= 0 or self._demand(broker) > self.settings.network_bytes_per_second * factor:
            self._lagging[number] = broker.behind_since = self._clock.now()
        else:
            self._lagging.pop(number, None)
            broker.behind_since = None

    def is_stuck(self, number: int) -> bool:
        """Return whether the network of the broker has been slowed to 0."""
        return self._replication.networks[number].factor == 0

    async def fail_log_dir(self, number: int, path: str) -> None:
        """Let a disk of a running broker fail, and notify the controller.

        Raises ValueError for another path.
        """
        self._check_runs(number)
        if path not in (known := self.log_dirs(number)):
            raise ValueError(f"broker {number} has no log directory {path}: it has {', '.join(known)}")
        await self._submit(LogDirFailed(number, self.brokers[number].fail_log_dir(path)))

    def log_dirs(self, number: int) -> dict[str, bool]:
        """Return by log directory whether its disk works."""
        dirs = self.brokers[number].log_dirs
        return {path: path not in dirs.failed for path in dirs.placed}

    def size(self, key: TopicPartition) -> int:
        """Return the bytes of a complete replica, which are the same for all partitions of a topic."""
        return int(self._volume(key.topic).end(self._clock.now()))

    def stored(self, key: TopicPartition) -> StoredReplicas | None:
        """Return what the running brokers have of the partition."""
        partition = self._state.cluster.partition(*key)
        if partition is None:
            return None
        brokers, sizes, paths = [], [], []
        volume, now = self._volume(key.topic), self._clock.now()
        for broker in partition.replicas:
            host = self.brokers.get(broker)
            replica = None if host is None else host.replicas.get(key)
            if host is not None and replica is not None and (path := host.log_dirs.find(key)) is not None:
                brokers.append(broker)
                sizes.append(int(replica.log.bytes(volume, now)))
                paths.append(path)
        return StoredReplicas(tuple(brokers), tuple(sizes), tuple(paths)) if brokers else None

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        """Return the bytes that the broker has of the partition.

        The result is None if the broker has no replica, or does not run.
        """
        host = self.brokers.get(broker)
        replica = None if host is None else host.replicas.get(key)
        return None if replica is None else int(replica.log.bytes(self._volume(key.topic), self._clock.now()))

    def received(self, key: TopicPartition) -> Received:
        """Return the bytes that the adding replicas of the partition have together."""
        adding = self._state.cluster.partitions[key.topic][key.partition].adding
        return Received(sum(self.arrived(key, number) or 0 for number in adding), self._clock.now())

    def measured(self) -> float:
        """Return the present: sizes are always known."""
        return self._clock.now()

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
        """Return the directories of the broker; None if it does not run."""
        if broker not in self._running:
            return None
        return await in_steps(describing_log_dirs(self.brokers[broker], request))

    def running(self, broker: int) -> EmbeddedBroker | None:
        """Return the broker; None if it does not run."""
        return self.brokers[broker] if broker in self._running else None

    @property
    def traffic(self) -> dict[int, Traffic]:
        """The byte counters by broker."""
        return self._replication.traffic

    # ---- wiring --------------------------------------------------------------------------------------------

    def _probes(self) -> EmbeddedProbes:
        noise = Random(1)  # noqa: S311 (it is not secret, and equal in each run)
        return EmbeddedProbes(self._latency, lambda: sorted(self._running), self._clock, noise)

    def _broker(self, number: int) -> EmbeddedBroker:
        self._replication.add_broker(number)
        paths = (f"/embedded/broker-{number}/logs-{index}" for index in range(self.settings.log_dirs))
        log_dirs = LogDirs(paths, partial(self._cordons, number))
        return EmbeddedBroker(number, log_dirs, self._replication, self._volume, self._clock.now)

    def _cordons(self, broker: int) -> str | None:
        return cordoned_dirs(self._state, broker)

    async def _open(self, broker: EmbeddedBroker) -> BrokerRegistration:
        reporter = IsrReporter(broker, self._catch_up_again, self._connect, self._clock)
        broker.start(reporter)
        listener = await self._listen(broker)
        task = spawn(reporter.run(), f"isr-reporter-of-broker-{broker.id}")
        self._running[broker.id] = _Running(listener, task)
        self._replication.networks[broker.id].up = True
        return BrokerRegistration(broker.id, listener.host, listener.port, self.settings.rack(broker.id))

    async def _close(self, number: int) -> None:
        running = self._running.pop(number)
        self._replication.networks[number].up = False
        await cancel(running.reporter)
        await running.listener.close()
        self.brokers[number].stop()

    def _check_exists(self, number: int) -> None:
        if number not in self.brokers:
            raise ValueError(f"there is no broker {number}: there are {', '.join(map(str, self.brokers))}")

    def _check_runs(self, number: int) -> None:
        self._check_exists(number)
        if number not in self._running:
            raise ValueError(f"broker {number} is not running")

    def _controller_id(self) -> int:
        """Return the id to announce as controller.

        Any live broker's, since every listener serves the controller.
        """
        return min(self._state.cluster.live, default=-1)

    def _caught_up(self, fetch: Fetch) -> bool:
        return self.brokers[fetch.leader].follower_caught_up(fetch.key, fetch.follower)

    def _catch_up_again(self, key: TopicPartition, follower: int) -> None:
        self.brokers[follower].catch_up(key)

    # ---- data and time -------------------------------------------------------------------------------------

    def _volume(self, topic: str) -> Volume:
        volume = self._volumes.get(topic)
        if volume is None:
            size, rate = self._declared(topic)
            volume = self._volumes[topic] = Volume(size, rate, self._clock.now(), size)
        return volume

    def _declared(self, topic: str) -> tuple[float, float]:
        """Return size and produce rate from the topic's configs, or from the settings."""
        size = self._state.settings.config(ResourceType.TOPIC, topic, PARTITION_BYTES)
        rate = self._state.settings.config(ResourceType.TOPIC, topic, PRODUCE_RATE)
        return (
            self.settings.partition_bytes if size is None else float(size),
            self.settings.produce_bytes_per_second if rate is None else float(rate),
        )

    def _configs_changed(self, effect: ConfigsChanged) -> None:
        if effect.resource is not ResourceType.TOPIC:
            return
        self._throttles.refresh(effect.resource, effect.name)
        volume = self._volumes.get(effect.name)
        if volume is None:
            return
        size, rate = self._declared(effect.name)
        now = self._clock.now()
        # The data that was produced so far stays, unless the configured size itself has changed.
        volume.size = volume.end(now) if size == volume.declared else size
        volume.rate, volume.since, volume.declared = rate, now, size

    def _produced(self) -> dict[int, float]:
        """Return the bytes per second that producers write to each broker. Followers fetch as much."""
        return {
            number: sum(self._volume(key.topic).rate for key in broker.replicas)
            for number, broker in self.brokers.items()
        }

    def _demand(self, broker: EmbeddedBroker) -> float:
        """Return the bytes per second that the broker must fetch to stay in the ISRs."""
        return sum(
            self._volume(key.topic).rate
            for key, replica in broker.replicas.items()
            if replica.leader != broker.id and broker.id in replica.isr
        )

    async def _run(self) -> None:
        last = self._clock.now()
        while True:
            await self._clock.sleep(self.settings.tick_seconds)
            now = self._clock.now()
            self._tick(now, now - last)
            if now - self._checked >= CHECK_SECONDS:
                self._checked = now
                if stalled := self._stalls.check():
                    await self._submit(Stalled(stalled))
            last = now

    def _tick(self, now: float, seconds: float) -> None:
        self._replication.tick(now)
        if self._state.pace.settings is not None:
            moved = {
                broker: max(each.replication_in, each.replication_out)
                for broker, each in self.traffic.items()
            }
            self._latency.tick(seconds, moved, self._produced())
        for number in self._running:
            broker = self.brokers[number]
            rate = min(self.settings.disk_bytes_per_second, self._throttles.log_dirs_rate(number))
            broker.log_dirs.tick(rate * seconds, broker.size)
        for number, since in list(self._lagging.items()):
            if now - since >= self.settings.replica_lag_time_seconds:
                del self._lagging[number]
                for broker in self.brokers.values():
                    broker.follower_fell_behind(number)
