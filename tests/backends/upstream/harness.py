"""A gateway before an upstream that is our own embedded cluster, both under one clock that tests move."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from backends.memory import MemoryStore
from backends.upstream.backend import UpstreamBackend
from backends.upstream.records import OwnRecords
from controller.machine import decide
from controller.messages.event import Event, Reply
from controller.model.profile import GATEWAY
from controller.state.state import State
from server.driver.driver import Driver
from tests.backends.harness import Embedded, World
from tests.backends.local import NoStats
from tests.backends.upstream.local_client import LocalClient
from tests.builders import key


class Gatewayed(World):
    """One life of a gateway; its upstream outlives it.

    Topics, brokers and data are the upstream's, orders go to the gateway, whose state is what tests look at.
    """

    at_once = 1.5
    """What Kafka takes back it leaves in another order, which takes a step more."""

    def __init__(self, inner: Embedded, store: MemoryStore | None = None) -> None:
        self.inner, self.clock, self.settings = inner, inner.clock, inner.settings
        self.store = store or MemoryStore()
        self.state = State(profile=GATEWAY)
        own = OwnRecords(self.store)
        self.state.apply(own.load())
        self.failures: list[BaseException] = []
        self.driver = Driver(
            self.state,
            own,
            decide,
            stats=NoStats(),
            on_failure=self.failures.append,
            now_ms=lambda: int(self.clock.now() * 1000) + 1,
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
        self._history: list[Callable[[Gatewayed], Awaitable[Any]]] = []

    async def start(self) -> "Gatewayed":
        self.driver.start(self.upstream)
        await self.upstream.start()
        return self

    async def stop(self) -> None:
        await self.detach()
        await self.inner.stop()

    async def restarted(self, commits: int | None = None) -> "Gatewayed":
        """Kill the gateway, then start again with what the first `commits` commits left; the upstream goes on."""
        survivor = self.store.survived(len(self.store.commits) if commits is None else commits)
        await self.detach()
        return await Gatewayed(self.inner, survivor).start()

    @property
    def commits(self) -> int:
        """How many are durable."""
        return len(self.store.commits)

    async def survivor(self, commits: int) -> "Gatewayed":
        """The next life, had this one been killed after so many commits; its upstream is where it was then, too."""
        again = await Gatewayed(await Embedded().start()).start()
        again.store.hold(after=commits)
        for happen in self._history:
            await happen(again)
        await again.until(lambda: again.commits == commits or not again.state.reassignments)
        return await again.restarted()

    async def do(self, event: Event[Reply]) -> Reply:
        self._history.append(lambda world: world.do(event))
        return await super().do(event)

    async def detach(self) -> None:
        """End this life of the gateway, as a kill would: nothing that is decided from here on reaches the upstream."""
        if self._ended:
            return
        self._ended = True
        await self.upstream.stop()
        self.store.release()
        await self.driver.stop()
        assert self.failures == []

    async def having(self, partitions: Mapping[str, Sequence[int]], **configs: str) -> None:
        """Create topics upstream, and wait until they are seen."""
        self._history.append(lambda world: world.having(partitions, **configs))
        await self.inner.having(partitions, **configs)
        topics = {key(name).topic for name in partitions}
        await self.until(lambda: all(self._seen(topic) for topic in topics))

    def _seen(self, topic: str) -> bool:
        ours, theirs = self.state, self.inner.state
        same = ours.topics.get(topic) == theirs.topics[topic]
        return same and len(ours.partitions[topic]) == len(theirs.partitions[topic])

    async def delete(self, *topics: str) -> None:
        await self.inner.delete(*topics)

    async def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        await self.inner.stop_broker(broker, controlled=controlled)

    def hosts(self, name: str) -> set[int]:
        return self.inner.hosts(name)

    def leaders(self, name: str) -> set[int]:
        return self.inner.leaders(name)

    def sent(self, kind: type) -> list[Any]:
        """Requests of this class that went to the upstream."""
        return [message for _, message in self.inner.network.requests if type(message) is kind]
