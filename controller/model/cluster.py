"""The values that make up the cluster as the controller sees it.

Every value is an immutable record: the same object is held in memory, written to the store and carried by
effects, so that the three can never disagree. A change replaces the record. Replica lists are tuples of broker
ids in preference order; the first replica is the preferred leader.

KIP-455: `Partition.adding` and `Partition.removing`. KIP-236: `Reassignment.original`.
"""

from typing import NamedTuple

from controller.model.configs import Config, Lease, ResourceType
from controller.model.jobs import Ending, Finished, Job, JobKind, Pending
from controller.model.names import NO_ID, NO_LEADER, Replicas, TopicPartition, without
from controller.model.upstream_step import UpstreamStep

__all__ = [
    "NO_ID",
    "NO_LEADER",
    "Broker",
    "Change",
    "Config",
    "ControllerEpoch",
    "Deleted",
    "Ending",
    "Finished",
    "Job",
    "JobKind",
    "Lease",
    "Partition",
    "Paused",
    "Pending",
    "Reassignment",
    "Record",
    "Replicas",
    "ResourceType",
    "Topic",
    "TopicPartition",
    "UpstreamStep",
]


class ControllerEpoch(NamedTuple):
    """How many times a controller has started on this data; fences the requests of earlier ones."""

    epoch: int

    @property
    def key(self) -> tuple[()]:
        """What the record is stored under."""
        return ()


class Broker(NamedTuple):
    """A registered broker. Whether it is alive is not durable: see `State.live`."""

    id: int
    host: str
    port: int
    rack: str | None
    epoch: int
    """Grows with each registration; requests with another one are refused (STALE_BROKER_EPOCH)."""

    @property
    def key(self) -> int:
        """What the record is stored under."""
        return self.id


class Topic(NamedTuple):
    """A topic; its partitions are records of their own."""

    name: str
    id: bytes
    """Sixteen bytes, as on the wire."""
    deleting: bool = False
    """Deletion was asked for and waits: a partition of the topic moves, or a broker with a replica is down (`controller.cluster.deletions`)."""

    @property
    def key(self) -> str:
        """What the record is stored under."""
        return self.name


class Partition(NamedTuple):
    """One partition as the brokers are told of it (Kafka: LeaderIsrAndControllerEpoch, ReplicaAssignment).

    While a step is in flight, `replicas` is the next list followed by the replicas to be removed,
    `adding` the part that is new and `removing` the part that goes.
    """

    topic: str
    partition: int
    replicas: Replicas
    isr: Replicas
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    """Version of leader and ISR, which leaders must know to change the ISR (ZooKeeper's version of the state znode)."""
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def key(self) -> TopicPartition:
        """What the record is stored under."""
        return tuple.__new__(TopicPartition, self[:2])

    @property
    def moving(self) -> bool:
        """A step is in flight."""
        return bool(self.adding or self.removing)

    @property
    def current(self) -> Replicas:
        """The replicas after the last completed step, in the order of `replicas`; none that are being added."""
        return without(self.replicas, self.adding) if self.adding else self.replicas

    @property
    def next(self) -> Replicas:
        """The replicas that the step in flight leads to; `replicas` when none is."""
        return without(self.replicas, self.removing) if self.removing else self.replicas

    @property
    def under_replicated(self) -> bool:
        """A replica that is not being added is out of the ISR (KIP-352, counted by members)."""
        return any(r not in self.isr and r not in self.adding for r in self.replicas)


class Reassignment(NamedTuple):
    """What is wanted of one partition; deleted when the partition is there. Its phase is derived, never stored."""

    topic: str
    partition: int
    original: Replicas
    """The replicas when the first of an unbroken chain of orders was accepted; what a rollback restores."""
    target: Replicas
    job: int = 0
    """The newest job that ordered this; 0 when another controller began it."""
    blocked: str = ""
    """Why nothing is done about it until people say what is to be done; empty when nothing is in the way."""

    @property
    def key(self) -> TopicPartition:
        """What the record is stored under."""
        return tuple.__new__(TopicPartition, self[:2])

    def current_of(self, partition: Partition) -> Replicas:
        """`Partition.current` in the order that the list had before the step in flight, which `partition` forgot."""
        current = partition.current
        if not partition.moving:
            return current
        if set(current) == set(self.original):
            return self.original
        rest = [r for r in self.original if r in current and r not in self.target]
        known = [r for r in self.target if r in current] + rest
        return tuple(known + [r for r in current if r not in known])

    @property
    def rolling_back(self) -> bool:
        """It goes back to where it began (KIP-236)."""
        return self.target == self.original


class Paused(NamedTuple):
    """Nothing starts while `paused`; steps in flight go on."""

    paused: bool

    @property
    def key(self) -> tuple[()]:
        """What the record is stored under."""
        return ()


Record = (
    ControllerEpoch
    | Broker
    | Topic
    | Partition
    | Reassignment
    | Config
    | Job
    | Finished
    | Pending
    | Paused
    | Lease
    | UpstreamStep
)
"""What is durable. Each is an upsert under its `key`."""


class Deleted(NamedTuple):
    """The record of this kind and key is gone."""

    kind: type[Record]
    key: object


Change = Record | Deleted
