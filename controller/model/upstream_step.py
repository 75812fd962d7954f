"""What was asked of an upstream Kafka for one partition: the intent, durable before the call."""

from enum import IntEnum
from typing import NamedTuple

from controller.model.names import Replicas, TopicPartition


class Stage(IntEnum):
    """How far a step that an upstream carries out has come."""

    SUBMITTING = 0
    """It is to be asked for; whether the upstream has heard of it is unknown."""
    ACTIVE = 1
    """The upstream has taken it."""
    UNDOING = 2
    """It is to be taken back; whether the upstream has done so is unknown."""
    ENDED = 3
    """It is over, and `following` is what came of it."""
    SETTLED = 4
    """No step is in flight; `following` is where the last one ended, `base` where it began."""
    UNDONE = 5
    """The upstream has confirmed that it has taken the step back; Metadata is still to show it."""


class UpstreamStep(NamedTuple):
    """The step of a partition from `base`, the replicas that were there, to `following`."""

    topic: str
    partition: int
    base: Replicas
    following: Replicas
    stage: Stage = Stage.SUBMITTING
    replaced: Replicas = ()
    """Where the upstream goes on to if it does not hear of this row: the step in flight that the row turns.

    The first step may have ended before the row came; so until this one is over, nobody knows from where it began.
    Where no step is in flight: where the step led that was taken back.
    """
    epoch: int = -1
    """The leader epoch of the partition, as it was known, before the upstream was asked; -1 when it was not known."""

    @property
    def key(self) -> TopicPartition:
        """What the record is stored under."""
        return tuple.__new__(TopicPartition, self[:2])

    @property
    def in_flight(self) -> bool:
        """The upstream has it in hand, or may have."""
        return self.stage is not Stage.SETTLED

    @property
    def ways_back(self) -> frozenset[Replicas]:
        """The lists to which a cancel may lead; none where the step was turned, and nobody knows.

        It is `base` in the order that the step gave it: first what stays. What was to go comes after it, sorted by KRaft, and
        in its order by Kafka with ZooKeeper.
        """
        if self.replaced:
            return frozenset()
        stays = tuple(r for r in self.following if r in self.base)
        goes = tuple(r for r in self.base if r not in self.following)
        return frozenset({stays + goes, stays + tuple(sorted(goes))})

    def is_middle(self, replicas: Replicas, isr: Replicas) -> bool:
        """Whether this is the list that the upstream has while it carries out the step, or the one that was turned.

        A step that only adds leads to that very list, but then what it added is in sync.
        """
        shown = set(replicas)
        starts = [set(start) for start in (self.base, self.replaced) if start]
        ends = [set(end) for end in (self.following, self.replaced) if end]
        return any(
            shown == start | end and not (shown == end and shown - start <= set(isr))
            for start in starts
            if shown != start
            for end in ends
        )

    def is_before(self, replicas: Replicas, leader_epoch: int) -> bool:
        """Whether these are the replicas from which the step began, at no later leader epoch than it had then.

        When replicas are dropped, at the end of a step or by a cancel, Kafka's controllers begin a new leader epoch
        (PartitionChangeBuilder; KafkaController). What only reorders begins none: there the new order tells.
        """
        old = leader_epoch <= self.epoch and set(replicas) == set(self.base)
        return old and replicas != self.following
