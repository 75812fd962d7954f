"""A cluster for the tests of other projects: brokers on real ports, reassignments that really run, no Java.

    async with EmbeddedCluster(brokers=3) as cluster:
        await cluster.create_topic("orders", [[1, 2], [2, 3]])
        admin = AdminClient(cluster.bootstrap_servers)
        ...
        await cluster.stop_broker(2)

With `clock=ManualClock()` data moves only while the test calls `clock.advance(seconds)`.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Self

from backends.memory import MemoryStore
from common.clock import Clock, ManualClock, RealClock
from controller.messages.event import Event, Reply
from controller.messages.events import CreateTopics, NewTopic
from controller.ports import Store
from controller.state.state import State
from reassignd.config.config import Assignment, resolve
from reassignd.runtime.app import Application
from reassignd.runtime.embedded import EmbeddedRuntime
from reassignd.runtime.identity import cluster_id, new_id
from reassignd.runtime.records import load, open_store
from reassignd.runtime.runtime import Hooks

__all__ = ["Clock", "EmbeddedCluster", "ManualClock", "RealClock"]


class EmbeddedCluster:
    """Serves inside `async with`, on the loop that runs it.

    Without a `data_dir` all is forgotten at the end. Port 0 gives each broker a free port. `settings` are keys of
    docs/configuration.md. Entering raises CommandError when something cannot be had, such as a port; leaving, when the
    controller had to stop by itself.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        clock: Clock | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        own = {"embedded.brokers": str(brokers), "listener": f"127.0.0.1:{port}"}
        self._settings = resolve(_assignments({**own, **(settings or {})}))
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._clock = clock
        self._stack = AsyncExitStack()
        self._app: Application
        self._world: EmbeddedRuntime

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._app = await stack.enter_async_context(await self._application(stack))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        if self._app.failure.done():
            await self._app.failure

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,host:port,…` of all brokers, as clients take it."""
        return ",".join(map(str, self._app.addresses))

    @property
    def state(self) -> State:
        """What the controller knows; to be read only."""
        return self._app.state

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the controller decide; return its reply. See `controller.messages.events`."""
        return await self._app.submit(event)

    async def create_topic(self, name: str, assignment: Sequence[Sequence[int]]) -> None:
        """Create a topic with these replicas, one list a partition. Raises ValueError when that is refused."""
        replicas = {number: tuple(each) for number, each in enumerate(assignment)}
        topic = NewTopic(name, uuid.uuid4().bytes, assignments=replicas)
        created = await self.submit(CreateTopics([topic]))
        error, message = created[0].outcome
        if error:
            raise ValueError(f"topic {name}: {message or error.name}")

    async def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        """Stop a broker: in order, its leaderships moved away first, or at once as if it had crashed."""
        await self._world.cluster.stop_broker(broker, controlled=controlled)

    async def start_broker(self, broker: int) -> None:
        """Bring a stopped broker back on its port, with the data that it had."""
        await self._world.cluster.start_broker(broker)

    def slow_broker(self, broker: int, factor: float) -> None:
        """Scale the broker's network: at 0 it is stuck, 1 makes it whole again."""
        self._world.cluster.slow_broker(broker, factor)

    async def fail_log_dir(self, broker: int, path: str) -> None:
        """A disk of a running broker fails; DescribeLogDirs tells the paths."""
        await self._world.cluster.fail_log_dir(broker, path)

    async def _application(self, stack: AsyncExitStack) -> Application:
        if self._data_dir is None:
            return self._around(State(), MemoryStore(), new_id())
        store = stack.enter_context(closing(open_store(self._data_dir)))
        return self._around(await load(store), store, cluster_id(self._data_dir))

    def _around(self, state: State, store: Store, identity: str) -> Application:
        def build(hooks: Hooks) -> EmbeddedRuntime:
            self._world = EmbeddedRuntime(self._settings, state, hooks, self._clock)
            return self._world

        return Application(self._settings, state, store, identity, build)


def _assignments(settings: Mapping[str, str]) -> Iterator[Assignment]:
    return (Assignment(key, value, "EmbeddedCluster") for key, value in settings.items())
