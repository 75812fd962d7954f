"""What is known of an upstream Kafka beside its topics and partitions; nothing where we are the controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from controller.configs.values import ConfigValues
from controller.model.cluster import Partition
from controller.model.configs import Resource
from controller.model.names import NO_LEADER, TopicPartition
from controller.model.upstream_step import UpstreamStep
from controller.scheduling.in_flight import DELEGATED, StepsInFlight

LONGEST_GAP_MS = 1_000
"""The most that the time between two looks adds to how long a doubt was looked at."""
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 100, 15_000
"""How long a row that the upstream does not take is not sent again: at first, and at most."""


class Disk(NamedTuple):
    """A log directory of a broker (KIP-827); -1 for bytes that the broker does not tell."""

    path: str
    total: int
    usable: int
    replicas: int
    """How many replicas it holds; the broker places a new one where there are fewest."""


class Discrepancy(Enum):
    """What a look shows that does not fit, or not yet."""

    OLD = "the replicas of before a step, or of its middle, while nothing moves"
    NOT_IN_SYNC = "the new replicas, not all of them in sync"
    NOT_TAKEN = "a partition where it was, after a row was sent"
    NOT_UNDONE = "a move that goes on, after a row that takes it back"
    NOT_TURNED = "a move that goes on as before, after a row that turns it"
    ELSEWHERE = "other replicas than those asked for"
    TURNED = "a move to somewhere else"
    AT_REST = "no move any more, where a queued plan waits for the end of one"
    NOT_LEADING = "another leader than the one to be elected"


class Sighting(NamedTuple):
    """What does not fit, in how many looks in a row, the last of them when, and for how long it was looked at."""

    what: Discrepancy
    looks: int
    at_ms: int
    lasts_ms: int
    """Between two looks no more than `LONGEST_GAP_MS` counts: who did not look has not seen that it was so."""
    waited_ms: int = 0
    """Since the first look, whether anybody looked or not."""
    again_ms: int = 0
    """The row that is not taken is to be sent again when it was waited for so long."""

    def confirmed(self, looks: int, ms: int) -> bool:
        """It was seen so often, and for so long: looks follow each other at very different speeds."""
        return self.looks >= looks and self.lasts_ms >= ms


@dataclass(eq=False, slots=True)
class UpstreamState(ConfigValues):
    """The steps that the upstream was asked for, the moves of others, and what was measured."""

    upstream_steps: dict[TopicPartition, UpstreamStep] = field(default_factory=dict)
    in_flight: StepsInFlight = field(default_factory=StepsInFlight)
    unanswered: dict[TopicPartition, int] = field(default_factory=dict)
    """Rows that were decided and of which nothing was heard yet; absent when none."""
    external: set[TopicPartition] = field(default_factory=set)
    """Partitions that the upstream moves on behalf of someone else, and those with a step of ours that a stop left in
    flight. Changed by `add_external` and `discard_external` alone."""
    reassigning_revision: int = 0
    """Grows when what ListPartitionReassignments shows may have changed; a key for caches."""
    doubts: dict[TopicPartition, Sighting] = field(default_factory=dict)
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    """Bytes of a replica."""
    disks: dict[int, Sequence[Disk]] = field(default_factory=dict)
    """By broker."""
    confirmed_throttles: dict[Resource, Mapping[str, str]] = field(default_factory=dict)
    """Topics and brokers that have the throttle they should have, and its values by config. Not durable."""
    unreachable: str = ""
    """Why the upstream cannot be looked at; empty while it can."""
    missing_since: dict[str, int] = field(default_factory=dict)
    """Topics that looks do not show any more, or as others of that name, and since when (ms)."""
    unlisted_brokers: set[int] = field(default_factory=set)
    """Brokers that the upstream does not list, though replicas that are out of sync are on them."""
    under_min_isr: dict[TopicPartition, None] = field(default_factory=dict)
    """Partitions under min ISR or without a leader that are none of ours to repair, in the order in which they became so."""
    health_problem: str = ""
    """Why nothing new should start, as far as the upstream's health goes; empty when it is well."""

    def add_external(self, key: TopicPartition) -> None:
        """The upstream moves the partition, and what it shows is to be listed."""
        if key not in self.external:
            self.external.add(key)
            self.reassigning_revision += 1

    def discard_external(self, key: TopicPartition) -> None:
        """Such a move is over, or has become ours, or its partition is gone; nothing happens where there is none."""
        if key in self.external:
            self.external.discard(key)
            self.reassigning_revision += 1

    def doubt(self, key: TopicPartition, what: Discrepancy, now_ms: int) -> Sighting:
        """Count one more look that shows this; another doubt before it counts no more."""
        before = self.doubts.get(key)
        if before is None or before.what is not what:
            before = Sighting(what, 0, now_ms, 0)
        gap = max(0, now_ms - before.at_ms)  # the clock may have been set back
        lasts = before.lasts_ms + min(gap, LONGEST_GAP_MS)
        waited = before.waited_ms + gap
        self.doubts[key] = found = Sighting(what, before.looks + 1, now_ms, lasts, waited, before.again_ms)
        return found

    def again(self, key: TopicPartition, what: Discrepancy, now_ms: int) -> bool:
        """Count a look that shows this, as `doubt`; True when the row is to be sent again, ever more rarely."""
        found = self.doubt(key, what, now_ms)
        if found.waited_ms < found.again_ms:
            return False
        pause = min(max(found.waited_ms, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
        self.doubts[key] = found._replace(again_ms=found.waited_ms + pause)
        return True

    def _weigh(self, partition: Partition, ours: bool) -> None:
        """Whether it is `under_min_isr`; the partition, its reassignment or its topic's configs have changed."""
        in_sync, members = len(partition.isr), len(partition.replicas)
        below = in_sync < members and partition.under_replicated
        under_min_isr = partition.leader == NO_LEADER or (below and in_sync < self.min_isr(partition.topic))
        if under_min_isr and not ours:
            self.under_min_isr[partition.key] = None
        elif self.under_min_isr:
            self.under_min_isr.pop(partition.key, None)

    def _put_upstream_step(self, record: UpstreamStep) -> None:
        self.upstream_steps[record.key] = record
        self.in_flight.note(record.topic, record.partition, DELEGATED, record.in_flight)

    def _delete_upstream_step(self, key: TopicPartition) -> None:
        del self.upstream_steps[key]
        self.in_flight.note(*key, DELEGATED, False)
        self.doubts.pop(key, None)
