"""What an upstream Kafka shows and answers. They belong to `controller.messages.events.Event`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.messages.event import Event
from controller.model.configs import ConfigChange, Resource, ThrottleLease
from controller.model.disks import BrokerDir
from controller.model.errors import Outcome
from controller.model.replicas import Replicas, StoredReplica, TopicPartition
from controller.state.cluster import Disk


class UpstreamBroker(NamedTuple):
    """A registered broker; one that is not alive is fenced, or has stopped (KIP-1073)."""

    id: int
    host: str
    port: int
    rack: str | None
    alive: bool = True


class UpstreamPartition(NamedTuple):
    """A partition in Metadata."""

    replicas: Replicas
    isr: Replicas
    leader: int
    leader_epoch: int


class UpstreamTopic(NamedTuple):
    """A topic in Metadata: the requested partitions by index, or all of them in a complete poll."""

    name: str
    id: bytes
    partitions: Mapping[int, UpstreamPartition]
    offline: Mapping[int, Replicas] = {}
    """The offline replicas of the partitions that have some: their broker or directory has failed."""


class UpstreamMove(NamedTuple):
    """A row of the upstream's ListPartitionReassignments."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas

    @property
    def target(self) -> Replicas:
        """Where it leads."""
        return tuple(r for r in self.replicas if r not in self.removing)


@dataclass(frozen=True, slots=True)
class UpstreamPolled(Event[None]):
    """One poll of the upstream: first all moves, then topics. Reply: none.

    `whole`: these are all topics with all partitions, else those about which the moves alone do not say
    enough. `brokers` is None when they were not polled. `outstanding` are the partitions of which a row
    was on its way at any time during the look: nothing is concluded about their steps. Nor is it from a look
    that is not `conclusive`, one of those that come as often as clients ask: what does not fit must not fit
    for a while.
    """

    brokers: Sequence[UpstreamBroker] | None
    topics: Sequence[UpstreamTopic]
    moves: Mapping[TopicPartition, UpstreamMove]
    whole: bool = False
    outstanding: Collection[TopicPartition] = ()
    conclusive: bool = True


@dataclass(frozen=True, slots=True)
class Unreachable(Event[None]):
    """The upstream cannot be polled, and why; no steps start."""

    why: str


@dataclass(frozen=True, slots=True)
class Submitted(Event[None]):
    """The upstream's answers to rows of `Submit`, each once; REQUEST_TIMED_OUT for a row without one."""

    rows: Sequence[tuple[TopicPartition, Replicas | None, Outcome]]


@dataclass(frozen=True, slots=True)
class Measured(Event[None]):
    """Sizes and disks, from DescribeLogDirs; what is not named keeps its last values."""

    sizes: Mapping[TopicPartition, int]
    """Of leaders' replicas."""
    disks: Mapping[int, Sequence[Disk]]
    stored: Mapping[TopicPartition, Sequence[StoredReplica]] = field(default_factory=dict)
    """All replicas that the brokers have named."""


@dataclass(frozen=True, slots=True)
class TopicConfigsSeen(Event[None]):
    """Configs of topics that steps go by, as the upstream has them; by topic, None for a default."""

    topics: Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class ThrottleRead(Event[None]):
    """Throttle configs as the upstream has them.

    `values`: by topic or broker the configs that are set on it, by name. A broker's include the brokers'
    default. What could not be read is absent. `acknowledged`: the changes of `AlterThrottle` that were made
    before this was read.
    """

    values: Mapping[Resource, Mapping[str, str]]
    acknowledged: Mapping[Resource, Sequence[ConfigChange]]


@dataclass(frozen=True, slots=True)
class CordonRefused(Event[None]):
    """The upstream refuses this value of `cordoned.log.dirs` of the broker, as before Kafka 4.3."""

    broker: int
    reason: str
    value: str


@dataclass(frozen=True, slots=True)
class DirsRemoved(Event[None]):
    """Brokers of the upstream do not have these log directories any more."""

    dirs: Sequence[BrokerDir]


@dataclass(frozen=True, slots=True)
class BrokerRatesSeen(Event[None]):
    """Replication throttles that are set at brokers, by broker and config.

    Those that leases owned before are left out.

    A broker without a rate is absent, and so is one that could not be asked. Empty: nothing moves any more.
    """

    rates: Mapping[int, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class LeasesImported(Event[None]):
    """Leases that an older version kept outside of the records."""

    leases: Sequence[ThrottleLease]
