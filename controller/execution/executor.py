"""Who carries out the steps of partitions, as a port with two implementations: `direct_steps` and `delegated_steps`."""

from typing import Protocol

from controller.execution import delegated_steps, direct_steps
from controller.model.cluster import Partition, Replicas, TopicPartition
from controller.state.decision import Decision
from controller.state.state import State


class StepExecutor(Protocol):
    """How the steps of partitions are carried out; `preferred` is who should lead as soon as it can (KIP-435)."""

    ELECTS: bool
    """It changes leaders itself, at once; it does not only ask for elections."""

    def begin(
        self, d: Decision, partition: Partition, following: Replicas, target: Replicas, preferred: int
    ) -> bool:
        """Start the step to `following`, or turn the step in flight to it; True when it is complete already."""
        ...

    def advance(self, d: Decision, partition: Partition, target: Replicas, preferred: int) -> bool:
        """Finish the step in flight if it can be; True when it is finished."""
        ...

    def can_turn(self, state: State, partition: Partition, kept: Replicas) -> bool:
        """Whether the step in flight can be ended at `kept`, the list before it with some that it adds.

        No replica in sync is lost by that.
        """
        ...

    def obstacle(self, state: State, partition: Partition, following: Replicas) -> str:
        """Why the next step, to `following`, cannot start now; empty when it can."""
        ...

    def ended(self, d: Decision, key: TopicPartition) -> None:
        """Nothing is wanted of the partition any more."""
        ...


def executor_of(state: State) -> StepExecutor:
    """The executor for this kind of cluster."""
    return delegated_steps if state.profile.has_upstream else direct_steps
