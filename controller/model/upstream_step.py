"""The record of a step that an upstream Kafka carries out. It is durable before the request is sent."""

from enum import IntEnum
from typing import NamedTuple

from controller.model.names import Replicas, TopicPartition


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
    UNDONE = 5
    """The upstream has confirmed the cancel; Metadata does not show it yet."""


_CANCELLED = frozenset({Stage.UNDOING, Stage.UNDONE})


class UpstreamStep(NamedTuple):
    """A step of a partition from the replica list `base` to the list `following`."""

    topic: str
    partition: int
    base: Replicas
    following: Replicas
    stage: Stage = Stage.SUBMITTING
    replaced: Replicas = ()
    """The list of the step in flight that this step replaces. The upstream executes that one if this row is
    lost.

    The replaced step may have ended before this row arrived, so the list from which this step starts is
    uncertain. When SETTLED: the list of a step that was undone."""
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
        return self.stage in _CANCELLED

    @property
    def ways_back(self) -> frozenset[Replicas]:
        """The lists to which a cancel may lead.

        A step that replaced another has none: its start is uncertain.

        A cancel keeps the order that the step gave to the list: first the replicas that stay, then those that
        the step would have dropped. KRaft sorts the latter; Kafka with ZooKeeper keeps their order.
        """
        if self.replaced:
            return frozenset()
        stays = tuple(r for r in self.following if r in self.base)
        dropped = tuple(r for r in self.base if r not in self.following)
        return frozenset({stays + dropped, stays + tuple(sorted(dropped))})

    def is_middle(self, replicas: Replicas, isr: Replicas) -> bool:
        """Whether the upstream shows this list while it carries out the step or the replaced one.

        A step that only adds replicas ends at the same list, but then the added replicas are in sync.
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
        """Whether these are the replicas from before the step, at a leader epoch that is not later.

        When a step or a cancel drops replicas, Kafka's controllers start a new leader epoch
        (PartitionChangeBuilder, KafkaController). A change of order alone starts none; there the new order is
        the proof.
        """
        old = leader_epoch <= self.epoch and set(replicas) == set(self.base)
        return old and replicas != self.following
