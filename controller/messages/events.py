"""What can happen to the controller. An event is the only way in (`controller.machine.decide`).

Events that a client waits for name their reply type; the others have none.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from controller.messages.job_events import AlterTopic, Pause, Prioritize, Prune, Queue, Reorder, RollBackJob
from controller.messages.upstream_events import (
    Measured,
    Submitted,
    TopicConfigsSeen,
    Unreachable,
    UpstreamPolled,
)
from controller.messages.zookeeper_events import ConfigsStored, Halt, PartitionsStored, TopicStored
from controller.model.cluster import Replicas, ResourceType, TopicPartition
from controller.model.configs import ConfigChange
from controller.model.errors import Outcome

# ---- reassignments (KIP-455) ------------------------------------------------------------------------------


class AlterReassignments(NamedTuple):
    """AlterPartitionReassignments (45). `topics` None cancels everything. Reply: `AlterReply`."""

    topics: Sequence[AlterTopic] | None
    timeout_ms: int = 60_000
    allow_replication_factor_change: bool = True
    principal: str = "User:ANONYMOUS"
    client_id: str | None = None
    priority: int = 0
    throttle: int = 0
    """Bytes a second for this job's replicas in flight; 0 for no throttle of its own."""


class TopicOutcomes(NamedTuple):
    """The rows of one topic in request order: (partition index, outcome)."""

    topic: str
    rows: Sequence[tuple[int, Outcome]]


class AlterReply(NamedTuple):
    """`outcome` is the request's own; with an error there, every requested row repeats it.

    `job` is what was accepted as a whole, 0 when nothing was ordered.
    """

    outcome: Outcome
    topics: Sequence[TopicOutcomes]
    job: int = 0


# ---- topics -----------------------------------------------------------------------------------------------


class NewTopic(NamedTuple):
    """A topic to create: either counts, or `assignments` (partition index -> replicas) by hand.

    -1 for a count means the cluster's default. `id` is made by the caller (randomness is a parameter).
    """

    name: str
    id: bytes
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Replicas] = {}
    configs: Mapping[str, str | None] = {}


class CreateTopics(NamedTuple):
    """Reply: `list[CreatedTopic]` in request order."""

    topics: Sequence[NewTopic]
    validate_only: bool = False


class CreatedTopic(NamedTuple):
    """One topic of a `CreateTopics`; the counts are -1 when it was refused."""

    name: str
    outcome: Outcome
    partitions: int = -1
    replication_factor: int = -1


class DeleteTopics(NamedTuple):
    """Reply: `list[tuple[str, Outcome]]`. A topic with moving partitions goes when they have stopped."""

    names: Sequence[str]


class NewPartitions(NamedTuple):
    """`total` counts the old ones too; `assignments` has one replica list per added partition, or is None."""

    topic: str
    total: int
    assignments: Sequence[Replicas] | None = None


class CreatePartitions(NamedTuple):
    """Reply: `list[tuple[str, Outcome]]` in request order."""

    topics: Sequence[NewPartitions]
    validate_only: bool = False


# ---- configs ----------------------------------------------------------------------------------------------


class ResourceChanges(NamedTuple):
    """Changes to one resource; they are all valid or none is made. A broker's name is its id, "" the default."""

    resource: ResourceType
    name: str
    changes: Sequence[ConfigChange]
    replace: bool = False
    """AlterConfigs (33): what is not named goes back to its default."""


class AlterConfigs(NamedTuple):
    """IncrementalAlterConfigs (44) and AlterConfigs (33). Reply: `list[Outcome]`, one a resource."""

    resources: Sequence[ResourceChanges]
    validate_only: bool = False


# ---- elections --------------------------------------------------------------------------------------------


class ElectionType(Enum):
    """Kafka: ElectionType."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectLeaders(NamedTuple):
    """ElectLeaders (43); `partitions` None means all. Reply: `list[tuple[TopicPartition, Outcome]]`."""

    election: ElectionType
    partitions: Sequence[TopicPartition] | None


class RebalanceLeaders(NamedTuple):
    """Elect the preferred leaders of each broker that does not lead more than `percentage` of those it should. Reply: how many."""

    percentage: int


# ---- brokers ----------------------------------------------------------------------------------------------


class BrokerRegistration(NamedTuple):
    """What a broker says of itself."""

    id: int
    host: str
    port: int
    rack: str | None = None
    epoch: int | None = None
    """Its broker epoch where someone else counts these (ZooKeeper's czxid); else we do."""


class BrokerChanged(NamedTuple):
    """A live broker says something new of itself, such as another port."""

    broker: BrokerRegistration


class ControllerStarted(NamedTuple):
    """The store is loaded and these brokers answer. Reply: `dict[int, int]`, broker id -> broker epoch."""

    brokers: Sequence[BrokerRegistration]


class BrokerStarted(NamedTuple):
    """A broker registers. Reply: `int`, its broker epoch."""

    broker: BrokerRegistration


class BrokerStopped(NamedTuple):
    """The broker does not answer any more."""

    broker: int


class ControlledShutdown(NamedTuple):
    """ControlledShutdown (7). Reply: `ShutdownReply`."""

    broker: int
    broker_epoch: int


class ShutdownReply(NamedTuple):
    """`remaining`: the partitions that the broker still leads."""

    outcome: Outcome
    remaining: Sequence[TopicPartition]


class LogDirFailed(NamedTuple):
    """These replicas of the broker are offline (LeaderAndIsr answered KAFKA_STORAGE_ERROR)."""

    broker: int
    partitions: Sequence[TopicPartition]


class IsrChange(NamedTuple):
    """The ISR that a leader wants for one of its partitions, and the epochs that it knows."""

    topic: str
    partition: int
    leader_epoch: int
    isr: Replicas
    partition_epoch: int


class AlterPartition(NamedTuple):
    """AlterPartition (56). Reply: `AlterPartitionReply`."""

    broker: int
    broker_epoch: int
    changes: Sequence[IsrChange]


class AlterPartitionReply(NamedTuple):
    """`error` for all, else one error a change, in order; the new state is read from `State`."""

    outcome: Outcome
    rows: Sequence[Outcome]


class Stalled(NamedTuple):
    """The steps of these partitions have made no progress for too long."""

    partitions: Sequence[TopicPartition]


class Continue(NamedTuple):
    """More steps can start than one decision should take: go on."""


Event = (
    AlterReassignments
    | CreateTopics
    | DeleteTopics
    | CreatePartitions
    | AlterConfigs
    | ElectLeaders
    | RebalanceLeaders
    | ControllerStarted
    | BrokerStarted
    | BrokerStopped
    | ControlledShutdown
    | LogDirFailed
    | AlterPartition
    | RollBackJob
    | Queue
    | Pause
    | Prioritize
    | Reorder
    | Prune
    | Stalled
    | Continue
    | UpstreamPolled
    | Unreachable
    | Submitted
    | Measured
    | TopicConfigsSeen
    | PartitionsStored
    | TopicStored
    | ConfigsStored
    | BrokerChanged
    | Halt
)
