"""A gateway whose upstream is an embedded cluster; both have the same manual clock."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from backends.memory import MemoryStore
from backends.upstream.backend import UpstreamBackend
from backends.upstream.own_records import OwnRecords
from controller.machine import decide
from controller.messages.event import Event, Reply
from controller.modes import GATEWAY
from controller.state.state import State
from server.counters import Counters
from server.driver.driver import Driver
from tests.backends.harness import EmbeddedHarness, Harness
from tests.backends.upstream.local_client import LocalClient
from tests.builders import key


class GatewayHarness(Harness):
    """The controller of a gateway, from a start to a stop or crash. The upstream keeps running after that.

    Topics, brokers and logs are those of the upstream. Orders and `state` are those of the gateway.
    """

    at_once = 1.5
    """Kafka's own cancel changes the replica order, which takes one more step to restore."""

    def __init__(self, inner: EmbeddedHarness, store: MemoryStore | None = None) -> None:
        self.inner, self.clock, self.settings = inner, inner.clock, inner.settings
        self.store = store or MemoryStore()
        self.state = State(mode=GATEWAY)
        own = OwnRecords(self.store)
        self.state.apply(own.load())
        self.failures: list[BaseException] = []
        self.driver = Driver(
            self.state,
            own,
            decide,
            stats=Counters(),
            on_failure=self.failures.append,
            now_ns=self.now_ns,
        )
        self.client = LocalClient(inner)
        self.upstream = UpstreamBackend(
            self.client,
            self.state,
            self.driver.submit,
            clock=self.clock,
            on_failure=self.failures.append,
        )
        self.cluster = inner.cluster
        self._ended = False
        self._history: list[Callable[[GatewayHarness], Awaitable[Any]]] = []

    async def start(self) -> "GatewayHarness":
        self.driver.start(self.upstream)
        await self.upstream.start()
        return self

    async def stop(self) -> None:
        await self.detach()
        await self.inner.stop()

    async def restarted(self, commits: int | None = None) -> "GatewayHarness":
        """Kill the gateway, and start another with the records of the first `commits` commits."""
        survivor = MemoryStore(self.store.commits[:commits])
        await self.detach()
        return await GatewayHarness(self.inner, survivor).start()

    @property
    def commits(self) -> int:
        """Number of durable commits."""
        return len(self.store.commits)

    async def survivor(self, commits: int) -> "GatewayHarness":
        """Repeat all actions with a new upstream up to `commits` commits; kill and restart that gateway."""
        again = await GatewayHarness(await EmbeddedHarness().start()).start()
        again.store.hold(after=commits)
        for action in self._history:
            await action(again)
        await again.until(lambda: again.commits == commits or not again.state.orders.reassignments)
        return await again.restarted()

    async def do(self, event: Event[Reply]) -> Reply:
        self._history.append(lambda harness: harness.do(event))
        return await super().do(event)

    async def detach(self) -> None:
        """Stop the gateway like a kill: no later decision reaches the upstream."""
        if self._ended:
            return
        self._ended = True
        await self.upstream.stop()
        self.store.release()
        await self.driver.stop()
        assert self.failures == []

    async def having(self, partitions: Mapping[str, Sequence[int]], **configs: str) -> None:
        """Create topics in the upstream, and wait until they are polled."""
        self._history.append(lambda harness: harness.having(partitions, **configs))
        await self.inner.having(partitions, **configs)
        topics = {key(name).topic for name in partitions}
        await self.until(lambda: all(self._is_polled(topic) for topic in topics))

    def _is_polled(self, topic: str) -> bool:
        ours, theirs = self.state, self.inner.state
        same = ours.cluster.topics.get(topic) == theirs.cluster.topics[topic]
        return same and len(ours.cluster.partitions[topic]) == len(theirs.cluster.partitions[topic])

    async def delete(self, *topics: str) -> None:
        await self.inner.delete(*topics)

    async def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        await self.inner.stop_broker(broker, controlled=controlled)

    def hosts(self, name: str) -> set[int]:
        return self.inner.hosts(name)

    def leaders(self, name: str) -> set[int]:
        return self.inner.leaders(name)

    def sent(self, kind: type) -> list[Any]:
        """Return the requests of this class that were sent to the upstream."""
        return [message for _, message in self.inner.network.requests if type(message) is kind]
