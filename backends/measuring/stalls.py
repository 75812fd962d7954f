"""Steps in flight that get nowhere, so that they do not hold their places for ever (KIP-435's limits stay true).

Looking is bounded: some of the steps at a time, all of them in turn.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from common.clock import Clock
from controller.configs.keys import BROKER_KEYS
from controller.configs.names import STEP_TIMEOUT
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.events import Stalled
from controller.model.cluster import ResourceType, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State

LOOK_SECONDS = 1.0

LOOKS = 1_000
"""Steps looked at in one call."""


class Received(NamedTuple):
    """Bytes that the adding replicas of a partition had together when that was last known, at a time in seconds."""

    size: float
    at: float


class StallWatch:
    """Remembers what the adding replicas of each step had received, and since when that did not change.

    `received` tells that; None when it is not known. Time counts from one measurement to another: brokers that do not
    tell say nothing of progress.
    """

    def __init__(self, state: State, received: Callable[[TopicPartition], Received | None]) -> None:
        self._state = state
        self._received = received
        self._turns: deque[TopicPartition] = deque()
        self._seen: dict[TopicPartition, Received] = {}

    async def run(self, clock: Clock, submit: SubmitEvent) -> None:
        """Look for ever, and have what stalls undone."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            if keys := self.look():
                await submit(Stalled(keys))

    def look(self) -> list[TopicPartition]:
        """The next steps that have made no progress for `reassignment.step.timeout.ms`."""
        if not self._turns:
            self._turns.extend(self._state.in_flight)
            self._seen = {key: self._seen[key] for key in self._turns if key in self._seen}
        looked = [self._turns.popleft() for _ in range(min(LOOKS, len(self._turns)))]
        return [key for key in looked if self._stalled(key)]

    def _stalled(self, key: TopicPartition) -> bool:
        partition = self._state.partition(*key)
        if partition is None or not partition.moving:
            return False
        received, seen = self._received(key), self._seen.get(key)
        if received is None:
            self._seen.pop(key, None)
            return False
        if seen is None or received.size != seen.size:
            self._seen[key] = received
            return False
        if received.at - seen.at < self._timeout():
            return False
        del self._seen[key]
        return True

    def _timeout(self) -> float:
        value = self._state.config(ResourceType.BROKER, CLUSTER_DEFAULT, STEP_TIMEOUT)
        return int(value or BROKER_KEYS[STEP_TIMEOUT].default) / 1000
