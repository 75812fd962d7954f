"""The record of a step that an upstream Kafka carries out. It is durable before the request is sent."""

from enum import IntEnum
from typing import NamedTuple

from controller.model.replicas import Replicas, TopicPartition


class Stage(IntEnum):
    """How far a step that an upstream carries out has come."""

    SUBMITTING = 0
    """It is being requested; whether the upstream has it is unknown."""
    ACTIVE = 1
    """The upstream has accepted it."""
    UNDOING = 2
    """Its cancel is being requested; whether the upstream has cancelled it is unknown."""
    ENDED = 3
    """It has ended, and `following` is the result. The reassignment has not taken it over yet."""
    SETTLED = 4
    """No step is in flight; `following` is where the last one ended, `base` where it started."""


class UpstreamStep(NamedTuple):
    """A step of a partition from the replica list `base` to the list `following`."""

    topic: str
    partition: int
    base: Replicas
    following: Replicas
    stage: Stage = Stage.SUBMITTING
    replaced: Replicas = ()
    """The list of a step that was cancelled before this one, which Metadata may still show.

    The version before replaced steps without a cancel. Such a step is loaded as one that is being undone."""
    epoch: int = -1
    """The last known leader epoch of the partition before the request; -1 when unknown."""

    @property
    def key(self) -> TopicPartition:
        """The key of the record."""
        return tuple.__new__(TopicPartition, self[:2])

    @property
    def in_flight(self) -> bool:
        """Whether the upstream carries the step out, or may do so."""
        return self.stage is not Stage.SETTLED

    @property
    def is_cancelled(self) -> bool:
        """Whether a cancel of the step was decided, and its effect was not observed yet."""
        return self.stage is Stage.UNDOING

    @property
    def restores(self) -> bool:
        """Whether the step follows a cancel that the upstream has confirmed.

        It restores the list from before.

        Kafka's cancel can change the order, and the list from which the cancelled step started may have been
        another one. The upstream's answer to this row is the proof of where the partition is.
        """
        return self.base == self.following

    @property
    def moves_nothing(self) -> bool:
        """Whether the row only gives an order to the replicas.

        It is complete when the upstream accepts it.
        """
        return set(self.base) == set(self.following)

    @property
    def lists_before(self) -> list[Replicas]:
        """The lists from which the step starts, or may start."""
        return [each for each in (self.base, self.replaced) if each and each != self.following]

    @property
    def middles(self) -> list[frozenset[int]]:
        """The replicas that the upstream shows while it carries out the step or the cancelled one.

        Without those of the next list: a step that only adds replicas has it in its middle, too.
        """
        pairs = [(self.base, self.following), (self.base, self.replaced), (self.replaced, self.following)]
        unions = {frozenset({*start, *end}) for start, end in pairs if start and end}
        return sorted(unions - {frozenset(self.following)}, key=sorted)
