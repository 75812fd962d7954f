"""A driver with a scripted `decide`, recorded effects, and commits that tests complete."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from backends.memory import MemoryStore
from common.zones import host_zone
from controller.messages.effects import BrokerLeft, Effect
from controller.messages.event import AnyEvent
from controller.messages.events import BrokerStopped
from controller.model.cluster import ControllerEpoch
from controller.modes import EMBEDDED
from controller.state.settings import SettingsState
from controller.state.state import Decision, State
from server.counters import Counters
from server.driver.driver import Driver


class Rig:
    """A driver over a scripted `decide`: event n sets the controller epoch to n, emits n and replies n."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.state = State(EMBEDDED, settings=SettingsState(host_zone))
        self.stats = Counters()
        self.log: list[Any] = []
        self.backend_failure: Exception | None = None
        self.failures: list[BaseException] = []
        self.decide: Callable[[Decision, AnyEvent], Iterator[None] | None] = self.change
        self.decided: list[tuple[AnyEvent, Any]] = []
        """Event and reply of each decision that is durable and answered."""
        self.driver = self.make()

    def make(self, capacity: int = 100) -> Driver:
        return Driver(
            self.state,
            self.store,
            self._decide,
            stats=self.stats,
            on_failure=self.failures.append,
            on_decision=lambda event, decision: self.decided.append((event, decision.reply)),
            capacity=capacity,
        )

    @asynccontextmanager
    async def running(self, is_busy: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
        """Run the driver for the duration of the block. At its end, all held commits are released."""
        self.driver.start(self, is_busy)
        try:
            yield
        finally:
            self.store.release()
            await self.driver.stop()

    def _decide(self, decision: Decision, event: AnyEvent) -> Iterator[None] | None:
        return self.decide(decision, event)

    def perform(self, effects: Sequence[Effect]) -> None:
        if self.backend_failure is not None:
            raise self.backend_failure
        self.log.extend(effects)

    def change(self, decision: Decision, event: AnyEvent) -> None:
        assert isinstance(event, BrokerStopped)
        decision.put(ControllerEpoch(event.broker))
        decision.effects.append(BrokerLeft(event.broker))
        decision.reply = event.broker

    def look(self, decision: Decision, event: AnyEvent) -> None:
        decision.reply = self.state.cluster.controller_epoch

    def submit(self, number: int) -> asyncio.Task[Any]:
        return asyncio.create_task(self.driver.submit(BrokerStopped(number)))


async def settle() -> None:
    """Run the event loop until no task can progress."""
    for _ in range(20):
        await asyncio.sleep(0)
