"""Detects steps in flight that make no progress, so that they do not use up the limits (KIP-435) forever.

A check visits a bounded number of steps; all steps take turns.
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

CHECK_SECONDS = 1.0
"""Pause between two checks."""
STEPS_PER_CHECK = 1_000


class Received(NamedTuple):
    """The total bytes of the adding replicas of a partition, and the time in seconds when that was measured."""

    size: float
    at: float


class StallWatch:
    """Remembers for each step in flight how many bytes its adding replicas had, and since when.

    `received` returns the last measurement, or None if there is none. Only the time between two measurements counts: a
    broker that does not report sizes does not make its steps stall.
    """

    def __init__(self, state: State, received: Callable[[TopicPartition], Received | None]) -> None:
        self._state = state
        self._received = received
        self._unchecked: deque[TopicPartition] = deque()
        self._last_progress: dict[TopicPartition, Received] = {}

    async def run(self, clock: Clock, submit: SubmitEvent) -> None:
        """Check every CHECK_SECONDS and submit the stalled steps. Runs until it is cancelled."""
        while True:
            await clock.sleep(CHECK_SECONDS)
            if keys := self.check():
                await submit(Stalled(keys))

    def check(self) -> list[TopicPartition]:
        """Check the next steps; return those without progress for `reassignment.step.timeout.ms`."""
        if not self._unchecked:
            self._unchecked.extend(self._state.in_flight)
            self._last_progress = {
                key: self._last_progress[key] for key in self._unchecked if key in self._last_progress
            }
        checked = [self._unchecked.popleft() for _ in range(min(STEPS_PER_CHECK, len(self._unchecked)))]
        return [key for key in checked if self._stalled(key)]

    def _stalled(self, key: TopicPartition) -> bool:
        partition = self._state.partition(*key)
        if partition is None or not partition.moving:
            return False
        received, progress = self._received(key), self._last_progress.get(key)
        if received is None:
            self._last_progress.pop(key, None)
            return False
        if progress is None or received.size != progress.size:
            self._last_progress[key] = received
            return False
        if received.at - progress.at < self._timeout():
            return False
        del self._last_progress[key]
        return True

    def _timeout(self) -> float:
        value = self._state.config(ResourceType.BROKER, CLUSTER_DEFAULT, STEP_TIMEOUT)
        return int(value or BROKER_KEYS[STEP_TIMEOUT].default) / 1000
