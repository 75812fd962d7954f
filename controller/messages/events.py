"""The events of the controller: requests of clients, reports of brokers, and observations.

An event is the only way to change the state (`controller.machine.decide`). Events about jobs, from an
upstream Kafka and from ZooKeeper are in modules of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from controller.messages.event import UNKNOWN_REQUESTER, Event, Requester
from controller.messages.job_events import AlterReply, AlterTopic
from controller.model.access import Acl, AclFilter, ScramCredential
from controller.model.cluster import Partition, Replicas, ResourceType, TopicPartition
from controller.model.configs import ConfigChange
from controller.model.errors import Outcome
from controller.model.limits import NO_LIMITS, PlanLimits
from controller.model.load_hours import LoadHours

# ---- reassignments (KIP-455) ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlterReassignments(Event[AlterReply]):
    """AlterPartitionReassignments (45). `topics` None cancels everything."""

    topics: Sequence[AlterTopic] | None
    deadline_ms: int | None = None
    """When the time of the request is over, in milliseconds since 1970. Later it is refused, as in Kafka."""
    allow_replication_factor_change: bool = True
    requester: Requester = UNKNOWN_REQUESTER
    priority: int = 0
    throttle: int = 0
    """Bytes a second for the job's replicas in flight; 0 for no throttle of its own."""
    limits: PlanLimits = NO_LIMITS
    """The job's own limits; those of the cluster apply too."""
    paused: bool = False
    """Whether the job waits to be resumed before its first step."""
    elects: bool = False
    until_ms: int = 0
    """As in `Job`, like `elects`."""


# ---- topics -----------------------------------------------------------------------------------------------


class NewTopic(NamedTuple):
    """A topic to create: either with counts, or with `assignments` (partition index -> replicas).

    -1 for a count selects the cluster's default. The caller makes `id`: the controller has no randomness.
    """

    name: str
    id: bytes
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Replicas] = {}
    configs: Mapping[str, str | None] = {}


class CreatedTopic(NamedTuple):
    """The outcome for one topic of `CreateTopics`; the counts are -1 when it was refused."""

    name: str
    outcome: Outcome
    partitions: int = -1
    replication_factor: int = -1


@dataclass(frozen=True, slots=True)
class CreateTopics(Event[list[CreatedTopic]]):
    """CreateTopics (19). The reply has one row per topic, in request order."""

    topics: Sequence[NewTopic]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class DeleteTopics(Event[list[tuple[str, Outcome]]]):
    """DeleteTopics (20). A topic with moving partitions is deleted when they have stopped."""

    names: Sequence[str]


class NewPartitions(NamedTuple):
    """Partitions to add.

    `total` includes the existing ones; `assignments` has one replica list per added partition.
    """

    topic: str
    total: int
    assignments: Sequence[Replicas] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitions(Event[list[tuple[str, Outcome]]]):
    """CreatePartitions (37). The reply has one row per topic, in request order."""

    topics: Sequence[NewPartitions]
    validate_only: bool = False


# ---- configs ----------------------------------------------------------------------------------------------


class ResourceChanges(NamedTuple):
    """Changes of one resource; all are made, or none.

    A broker's name is its id; "" is the cluster-wide default.
    """

    resource: ResourceType
    name: str
    changes: Sequence[ConfigChange]
    replace: bool = False
    """AlterConfigs (33): keys that are not named are reset to their defaults."""


@dataclass(frozen=True, slots=True)
class AlterConfigs(Event[list[Outcome]]):
    """IncrementalAlterConfigs (44) and AlterConfigs (33). The reply has one outcome per resource."""

    resources: Sequence[ResourceChanges]
    validate_only: bool = False
    requester: Requester = UNKNOWN_REQUESTER


# ---- elections --------------------------------------------------------------------------------------------


class ElectionType(Enum):
    """Kafka: ElectionType."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class ElectLeaders(Event[list[tuple[TopicPartition, Outcome]]]):
    """ElectLeaders (43); `partitions` None means all partitions."""

    election: ElectionType
    partitions: Sequence[TopicPartition] | None


@dataclass(frozen=True, slots=True)
class RebalanceLeaders(Event[int]):
    """Elect preferred leaders where too few of them lead. The reply is the number of elections.

    A broker's partitions are elected if it does not lead more than `percentage` of those that prefer it.
    """

    percentage: int


# ---- brokers ----------------------------------------------------------------------------------------------


class BrokerRegistration(NamedTuple):
    """The data with which a broker registers."""

    id: int
    host: str
    port: int
    rack: str | None = None
    epoch: int | None = None
    """The broker epoch if someone else assigns it (ZooKeeper's czxid); None if the controller assigns it."""


@dataclass(frozen=True, slots=True)
class BrokerChanged(Event[None]):
    """A live broker changed its registration, for example its port."""

    broker: BrokerRegistration


@dataclass(frozen=True, slots=True)
class ControllerStarted(Event[dict[int, int]]):
    """The store is loaded and these brokers are alive. The reply maps broker ids to broker epochs."""

    brokers: Sequence[BrokerRegistration]
    halted: bool = False
    """Start no steps until `Halt` says otherwise."""


@dataclass(frozen=True, slots=True)
class BrokerStarted(Event[int]):
    """A broker registers. The reply is its broker epoch."""

    broker: BrokerRegistration


@dataclass(frozen=True, slots=True)
class BrokerStopped(Event[None]):
    """The broker no longer responds."""

    broker: int


class ShutdownReply(NamedTuple):
    """`remaining`: the partitions that the broker still leads."""

    outcome: Outcome
    remaining: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class ControlledShutdown(Event[ShutdownReply]):
    """ControlledShutdown (7)."""

    broker: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class LogDirFailed(Event[None]):
    """These replicas of the broker are offline (LeaderAndIsr answered KAFKA_STORAGE_ERROR)."""

    broker: int
    partitions: Sequence[TopicPartition]


class IsrChange(NamedTuple):
    """The ISR that a leader requests for one of its partitions, and the epochs that it knows."""

    topic: str
    partition: int
    leader_epoch: int
    isr: Replicas
    partition_epoch: int


class AlterPartitionReply(NamedTuple):
    """The outcome of the request as a whole, else one outcome per change, in order.

    Read the new ISR from `State`.
    """

    outcome: Outcome
    rows: Sequence[Outcome]


@dataclass(frozen=True, slots=True)
class AlterPartition(Event[AlterPartitionReply]):
    """AlterPartition (56)."""

    broker: int
    broker_epoch: int
    changes: Sequence[IsrChange]


@dataclass(frozen=True, slots=True)
class Stalled(Event[None]):
    """The steps of these partitions have stalled."""

    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class HoursMeasured(Event[None]):
    """An hour has ended, and these partitions have been measured. A record with this number is replaced."""

    hours: LoadHours


@dataclass(frozen=True, slots=True)
class PeriodChanged(Event[None]):
    """A period of the schedule begins or ends about now (`Decision.wake_at_ms`)."""


@dataclass(frozen=True, slots=True)
class Continue(Event[None]):
    """Start the steps that exceeded the size of one decision, and resume deletions."""


@dataclass(frozen=True, slots=True)
class CreateAcls(Event[list[Outcome]]):
    """CreateAcls (30). The reply has one outcome per ACL. An ACL that exists is accepted."""

    acls: Sequence[Acl]
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class DeleteAcls(Event[list[list[Acl]]]):
    """DeleteAcls (31). The reply has the matching ACLs of each filter.

    An ACL that several filters match is in the reply for each of them, as in Kafka.
    """

    filters: Sequence[AclFilter]
    requester: Requester = UNKNOWN_REQUESTER


class UserChange(NamedTuple):
    """The changes of one user's credentials by mechanism; None removes one. All are made, or none."""

    user: str
    credentials: Mapping[str, ScramCredential | None]


@dataclass(frozen=True, slots=True)
class AlterScramCredentials(Event[list[Outcome]]):
    """AlterUserScramCredentials (51). The reply has one outcome per user."""

    users: Sequence[UserChange]
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class PartitionsStored(Event[None]):
    """Leaders stored new ISRs; `partitions` are the stored values."""

    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class TopicStored(Event[None]):
    """Someone stored a topic or added partitions to one.

    `partitions` are in order of index and have no leader yet.
    """

    topic: str
    id: bytes
    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class ConfigsStored(Event[None]):
    """Someone stored configs of the resource; `values` are all of them."""

    resource: ResourceType
    name: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReplicasDeleted(Event[None]):
    """The broker has deleted its replicas of these partitions, whose topics are being deleted."""

    broker: int
    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class Halt(Event[Outcome]):
    """Stop or resume starting steps (KIP-236: while the cancel znode exists). Steps in flight continue."""

    halted: bool
