"""A cluster for the tests of other projects: brokers on real ports, reassignments that take place, no Java.

    async with EmbeddedCluster(brokers=3) as cluster:
        await cluster.create_topic("orders", [[1, 2], [2, 3]])
        admin = AdminClient(cluster.bootstrap_servers)
        ...
        await cluster.stop_broker(2)

With `clock=ManualClock()` data moves only while the test calls `clock.advance(seconds)`.
"""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Self, TypeVar

from backends.memory import MemoryStore
from common.clock import Clock, ManualClock, RealClock
from common.off_loop import WorkerThread
from common.zones import host_zone
from controller import modes
from controller.messages.event import Event, Reply
from controller.messages.events import CreateTopics, NewTopic
from controller.model.cluster import Partition, TopicPartition
from controller.ports import Store
from controller.state.settings import SettingsState
from controller.state.state import State
from reassignd import expectations
from reassignd.config.errors import ConfigError
from reassignd.config.settings import EMBEDDED
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.embedded_cluster import ServedEmbedded, embedded_defaults
from reassignd.runtime.served_cluster import Hooks
from reassignd.runtime.storage.identity import cluster_id, new_id
from reassignd.runtime.storage.records import load, open_store
from reassignd.tracing.setting import open_traces
from server.counters import Counters
from server.driver.driver import DriverStoppedError

__all__ = ["Clock", "EmbeddedCluster", "ManualClock", "RealClock"]

T = TypeVar("T")


class EmbeddedCluster:
    """Serves inside `async with`, on the running event loop.

    Without a `data_dir` nothing is kept after the end. Port 0 gives each broker a free port. `settings` are
    keys of docs/configuration.md; ConfigError names a wrong one. Entering raises CommandError when it cannot
    start, for instance because a port is in use; leaving, when the controller has failed meanwhile.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        clock: Clock | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        if (backend := (settings or {}).get("backend", EMBEDDED)) != EMBEDDED:
            raise ConfigError(f"EmbeddedCluster: backend is always {EMBEDDED} here, not {backend}")
        own = {"embedded.brokers": str(brokers), "listener": f"127.0.0.1:{port}"}
        self._settings = resolve(_assignments({**own, **(settings or {})}))
        self._data_dir = None if data_dir is None else Path(data_dir)
        self.clock = clock or RealClock()
        self._stack = AsyncExitStack()
        self._assembly: Assembly
        self._served: ServedEmbedded
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            self._assembly = await self._assemble(stack)
            try:
                await self._assembly.start()
            except DriverStoppedError:
                raise (await self._assembly.failure).command_error() from None
            stack.push_async_callback(self._assembly.stop)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        if self._assembly.failure.done():
            raise self._assembly.failure.result().command_error()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers: `host:port,host:port,…`."""
        return ",".join(map(str, self._served.addresses))

    @property
    def state(self) -> State:
        """The state of the controller. Do not change it."""
        return self._assembly.state

    async def read(self, view: Callable[[State], T]) -> T:
        """Return `view(state)`, as the fixtures with blocking methods do."""
        return view(self.state)

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit an event to the controller; return its reply. See `controller.messages.events`."""
        return await self._here().submit(event)

    async def create_topic(self, name: str, assignment: Sequence[Sequence[int]]) -> None:
        """Create a topic with these replicas, one list for each partition.

        Raises ValueError when that is refused.
        """
        if not assignment:
            raise ValueError(
                f"topic {name}: the assignment has no partition; [[1, 2]] is one with two replicas"
            )
        try:
            replicas = {number: tuple(partition) for number, partition in enumerate(assignment)}
        except TypeError:
            raise ValueError(
                f"topic {name}: the assignment has a list of replicas for each partition, such as [[1, 2]],"
                f" not {assignment!r}"
            ) from None
        topic = NewTopic(name, uuid.uuid4().bytes, assignments=replicas)
        created = await self.submit(CreateTopics([topic]))
        error, message = created[0].outcome
        if error:
            raise ValueError(f"topic {name}: {message or error.name}")

    async def wait_until_done(self, *topics: str, seconds: float = 30.0) -> None:
        """Return when no reassignment of the topics is left; see `reassignd.expectations`.

        Raises TimeoutError when some are left after that time, ValueError when there is no such topic.
        """
        is_stuck = self._here().cluster.is_stuck
        await expectations.wait_until_done(
            self.state, self.clock, topics, _number("seconds", seconds), is_stuck=is_stuck
        )

    async def expect_moving(
        self,
        topic: str,
        partition: int = 0,
        *,
        adding: Sequence[int] | None = None,
        removing: Sequence[int] | None = None,
        seconds: float = 5.0,
    ) -> Partition:
        """Wait until a step of the partition is in flight; see `reassignd.expectations`."""
        self._here()
        key = TopicPartition(topic, partition)
        return await expectations.expect_moving(
            self.state, key, adding, removing, _number("seconds", seconds)
        )

    async def advance(self, seconds: float) -> None:
        """Advance the clock, which must be a `ManualClock`."""
        self._here()
        if not isinstance(self.clock, ManualClock):
            raise TypeError(
                "only a manual clock can be advanced: EmbeddedCluster(clock=ManualClock()),"
                ' or pytest.mark.reassignd(clock="manual")'
            )
        await self.clock.advance(_number("seconds", seconds))

    async def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        """Stop a broker.

        A `controlled` stop moves its leaderships away first; otherwise it stops as in a crash.
        """
        await self._here().cluster.stop_broker(broker, controlled=controlled)

    async def start_broker(self, broker: int) -> None:
        """Start a stopped broker again, on its port and with its data."""
        await self._here().cluster.start_broker(broker)

    async def slow_broker(self, broker: int, factor: float) -> None:
        """Scale the bandwidth of the broker's network: 0 stops all transfers, 1 is the configured bandwidth.

        A broker that is stopped and started again has the configured bandwidth.
        """
        self._here().cluster.slow_broker(broker, _number("factor", factor))

    async def fail_log_dir(self, broker: int, path: str) -> None:
        """Make a log directory of a running broker fail. DescribeLogDirs lists the paths."""
        await self._here().cluster.fail_log_dir(broker, path)

    def _here(self) -> ServedEmbedded:
        """Return the cluster that is served.

        Raises RuntimeError in another event loop, in which a call would wait forever.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "the cluster runs in another event loop than this call; with pytest-asyncio, set"
                " asyncio_default_fixture_loop_scope to the loop_scope of the test"
            )
        return self._served

    async def _assemble(self, stack: AsyncExitStack) -> Assembly:
        state = State(
            modes.EMBEDDED,
            settings=SettingsState(host_zone, config_defaults=embedded_defaults(self._settings)),
        )
        identity = new_id()
        store: Store = MemoryStore()
        if self._data_dir is not None:
            store = stack.enter_context(closing(open_store(self._data_dir)))
            identity = cluster_id(self._data_dir)
            await load(store, state)

        def build(hooks: Hooks) -> ServedEmbedded:
            self._served = ServedEmbedded(self._settings, state, hooks, clock=self.clock)
            return self._served

        parts = ProcessParts(WorkerThread(), Counters(), traces=open_traces(self._settings))
        stack.callback(parts.close)
        return Assembly(self._settings, state, store, identity, build, parts)


def _assignments(settings: Mapping[str, object]) -> Iterator[Assignment]:
    return (Assignment(key, str(value), "EmbeddedCluster") for key, value in settings.items())


def _number(name: str, value: object) -> float:
    """Return the value.

    Raises TypeError when it is no number, as tests without a type checker may have it.
    """
    if not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    return value
