"""What is known of an upstream Kafka beside its topics and partitions; nothing where we are the controller."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.config_values import ConfigValues
from controller.names import TopicPartition
from controller.submission import Submission


class Disk(NamedTuple):
    """A log directory of a broker (KIP-827); -1 for bytes that the broker does not tell."""

    path: str
    total: int
    usable: int
    replicas: int
    """How many replicas it holds; the broker places a new one where there are fewest."""


@dataclass(eq=False, slots=True)
class UpstreamState(ConfigValues):
    """The steps that the upstream was asked for, the moves of others, and what was measured."""

    submissions: dict[TopicPartition, Submission] = field(default_factory=dict)
    under_way: set[TopicPartition] = field(default_factory=set)
    """Those of them with a step in flight."""
    unanswered: dict[TopicPartition, int] = field(default_factory=dict)
    """Rows that were decided and of which nothing was heard yet; absent when none."""
    foreign: set[TopicPartition] = field(default_factory=set)
    """Partitions that the upstream moves on behalf of someone else."""
    tries: dict[TopicPartition, int] = field(default_factory=dict)
    """How often in a row the upstream did not show what was expected of a step."""
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    """Bytes of a replica."""
    disks: dict[int, Sequence[Disk]] = field(default_factory=dict)
    """By broker."""
    guarded: bool = False
    """There is an upstream whose health counts."""
    unreachable: str = ""
    """Why the upstream cannot be looked at; empty while it can."""
    weak: dict[TopicPartition, None] = field(default_factory=dict)
    """Partitions under min ISR or without a leader that are none of ours to repair, in the order in which they became so."""
    trouble: str = ""
    """Why nothing new should start, as far as the upstream's health goes; empty when it is well."""

    def _put_submission(self, record: Submission) -> None:
        self.submissions[record.key] = record
        if record.in_flight:
            self.under_way.add(record.key)
        else:
            self.under_way.discard(record.key)

    def _delete_submission(self, key: TopicPartition) -> None:
        del self.submissions[key]
        self.under_way.discard(key)
        self.tries.pop(key, None)
