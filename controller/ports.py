"""What the core needs of the world, as ports: a store for records, a backend for effects."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from controller.messages.effects import Effect
from controller.model.cluster import Change, Partition, Record, Replicas, TopicPartition

if TYPE_CHECKING:
    from controller.state.decision import Decision
    from controller.state.state import State


class StoreLostError(Exception):
    """The store takes no more: the connection to it is lost, or others write to it. Everything is to be read anew."""


class Store(Protocol):
    """Keeps records durably."""

    def load(self) -> Iterable[Record]:
        """All records; topics come before their partitions, and partitions in order of index."""
        ...

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """Make the changes durable, all or none, in order of calls. Done when a crash cannot lose them.

        Calls may be made before earlier ones are done; they share one disk flush.
        """
        ...


class Backend(Protocol):
    """Carries out effects."""

    def perform(self, effects: Sequence[Effect]) -> None:
        """Take the effects in order and return at once; what fails is retried or comes back as an event."""
        ...


class StepExecutor(Protocol):
    """How the steps of partitions are carried out; `preferred` is who should lead as soon as it can (KIP-435)."""

    ELECTS: bool
    """It changes leaders itself, at once; it does not only ask for elections."""

    def begin(
        self, d: "Decision", partition: Partition, following: Replicas, target: Replicas, preferred: int
    ) -> bool:
        """Start the step to `following`, or turn the step in flight to it; True when it is complete already."""
        ...

    def advance(self, d: "Decision", partition: Partition, target: Replicas, preferred: int) -> bool:
        """Finish the step in flight if it can be; True when it is finished."""
        ...

    def can_turn(self, state: "State", partition: Partition, kept: Replicas) -> bool:
        """Whether the step in flight can be ended at `kept`, the list before it with some that it adds.

        No replica in sync is lost by that.
        """
        ...

    def obstacle(self, state: "State", partition: Partition, following: Replicas) -> str:
        """Why the next step, to `following`, cannot start now; empty when it can."""
        ...

    def ended(self, d: "Decision", key: TopicPartition) -> None:
        """Nothing is wanted of the partition any more."""
        ...
