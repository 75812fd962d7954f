"""The port that executes steps, with two implementations: `direct_steps` and `controller.gateway.steps`."""

from typing import Protocol

from controller.execution import direct_steps
from controller.gateway import steps
from controller.model.cluster import Partition, Replicas, TopicPartition
from controller.state.decision import Decision
from controller.state.state import State


class StepExecutor(Protocol):
    """Carries out the steps of partitions.

    `preferred` is the broker that should lead as soon as it can (KIP-435).
    """

    ELECTS: bool
    """Whether it changes leaders itself, at once, or requests elections."""

    def begin(
        self, d: Decision, partition: Partition, following: Replicas, target: Replicas, preferred: int
    ) -> bool:
        """Start the step to `following`, or replace the step in flight; True when it is complete already."""
        ...

    def advance(self, d: Decision, partition: Partition, target: Replicas, preferred: int) -> bool:
        """Complete the step in flight if possible; True if so."""
        ...

    def can_turn(self, state: State, partition: Partition, kept: Replicas) -> bool:
        """Whether the step in flight can end at `kept`, the list before it with some of the added replicas.

        The end must not drop a replica that is in sync.
        """
        ...

    def obstacle(self, state: State, partition: Partition, following: Replicas) -> str:
        """Return why the next step, to `following`, cannot start now; empty when it can."""
        ...

    def ended(self, d: Decision, key: TopicPartition) -> None:
        """Clean up after the partition's reassignment has ended."""
        ...


def executor_of(state: State) -> StepExecutor:
    """Return the executor for this kind of cluster."""
    return steps if state.profile.has_upstream else direct_steps
