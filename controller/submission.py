"""What was asked of an upstream Kafka for one partition: the intent, durable before the call."""

from enum import IntEnum
from typing import NamedTuple

from controller.names import Replicas, TopicPartition, key_of


class Stage(IntEnum):
    """How far a step that an upstream carries out has come."""

    SUBMITTING = 0
    """It is to be asked for; whether the upstream has heard of it is unknown."""
    ACTIVE = 1
    """The upstream has taken it."""
    UNDOING = 2
    """It is to be taken back; whether the upstream has done so is unknown."""
    ARRIVED = 3
    """It is over, and `following` is what came of it."""
    AT = 4
    """No step is in flight; `following` is where the last one ended."""


class Submission(NamedTuple):
    """The step of a partition from `base`, the replicas that were there, to `following`."""

    topic: str
    partition: int
    base: Replicas
    following: Replicas
    stage: Stage = Stage.SUBMITTING
    turned_from: Replicas = ()
    """Where the upstream goes on to if it does not hear of this row: the step in flight that the row turns."""

    @property
    def key(self) -> TopicPartition:
        """What the record is stored under."""
        return key_of(self)

    @property
    def in_flight(self) -> bool:
        """The upstream has it in hand, or may have."""
        return self.stage is not Stage.AT

    @property
    def led_back(self) -> Replicas:
        """Where a cancel leads: `base` in the order that the step gave it; () where the step was turned, and nobody knows."""
        if self.turned_from:
            return ()
        return tuple(r for r in dict.fromkeys(self.following + self.base) if r in self.base)
