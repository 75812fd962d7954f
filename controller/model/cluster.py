"""The records of the cluster.

Every value is an immutable record: the same object is held in memory, written to the store and carried by
effects, so that the three can never disagree. A change replaces the record. Replica lists are tuples of
broker ids in preference order; the first replica is the preferred leader.

KIP-455: `Partition.adding` and `Partition.removing`. KIP-236: `Reassignment.original`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from controller.model.access import Acl, ScramCredential
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.configs import Config, ResourceType, ThrottleLease
from controller.model.disks import DiskMove
from controller.model.jobs import Ending, Finished, Job, JobKind, Pending
from controller.model.load_hours import LoadHours
from controller.model.replicas import NO_ID, NO_LEADER, Replicas, TopicPartition, without
from controller.model.tasks import DryRun, UserTask
from controller.model.upstream_step import UpstreamStep

__all__ = [
    "NO_ID",
    "NO_LEADER",
    "Acl",
    "Broker",
    "Change",
    "Config",
    "ControllerEpoch",
    "Deleted",
    "Ending",
    "Finished",
    "Job",
    "JobKind",
    "Partition",
    "Paused",
    "Pending",
    "Reassignment",
    "Record",
    "Replicas",
    "ResourceType",
    "ScramCredential",
    "ThrottleLease",
    "Topic",
    "TopicPartition",
    "UpstreamStep",
]


class ControllerEpoch(NamedTuple):
    """The number of controller starts on this data. Brokers refuse requests of earlier controllers."""

    epoch: int

    @property
    def key(self) -> tuple[()]:
        """The key under which the record is stored."""
        return ()


class Broker(NamedTuple):
    """A registered broker. Whether it is alive is not durable: see `ClusterState.live`."""

    id: int
    host: str
    port: int
    rack: str | None
    epoch: int
    """Increases with each registration. Requests with another epoch are refused (STALE_BROKER_EPOCH)."""

    @property
    def key(self) -> int:
        """The key under which the record is stored."""
        return self.id


class Topic(NamedTuple):
    """A topic; its partitions are records of their own."""

    name: str
    id: bytes
    """Sixteen bytes, as on the wire."""
    deleting: bool = False
    """The deletion was requested and is postponed (`controller.cluster.deletions`)."""

    @property
    def key(self) -> str:
        """The key under which the record is stored."""
        return self.name


class Partition(NamedTuple):
    """A partition as published to the brokers (Kafka: LeaderIsrAndControllerEpoch, ReplicaAssignment).

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
    """Version of leader and ISR. A leader must know it to change the ISR. In ZooKeeper mode: the state
    znode's version."""
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def key(self) -> TopicPartition:
        """The key under which the record is stored."""
        return tuple.__new__(TopicPartition, self[:2])

    @property
    def moving(self) -> bool:
        """Replicas are being added or removed."""
        return bool(self.adding or self.removing)

    @property
    def current(self) -> Replicas:
        """The replicas after the last completed step: `replicas` without those being added, in that order."""
        return without(self.replicas, self.adding) if self.adding else self.replicas

    @property
    def next(self) -> Replicas:
        """The replicas after the step in flight; `replicas` without one."""
        return without(self.replicas, self.removing) if self.removing else self.replicas

    @property
    def under_replicated(self) -> bool:
        """Whether a replica that is not being added is out of the ISR (KIP-352, counted by members)."""
        return any(r not in self.isr and r not in self.adding for r in self.replicas)


class Reassignment(NamedTuple):
    """The original and the target of one partition; deleted when the partition is at its target.

    Its phase is derived.
    """

    topic: str
    partition: int
    original: Replicas
    """The replicas when the first of its orders was accepted. A rollback restores them."""
    target: Replicas
    job: int = 0
    """The newest job that ordered it; 0 if another controller did."""
    blocked: str = ""
    """Why it waits for a decision of an operator; empty if it does not."""
    topic_id: str = ""
    """The topic's id in hexadecimal digits where topics are not records of reassignd (`Mode.keeps_topics`),
    and another controller may have made another topic of that name; else empty."""

    @property
    def key(self) -> TopicPartition:
        """The key under which the record is stored."""
        return tuple.__new__(TopicPartition, self[:2])

    def current_of(self, partition: Partition) -> Replicas:
        """Return `Partition.current` in its order before the step in flight, which the partition has lost."""
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
        """Whether the target is the original (KIP-236)."""
        return self.target == self.original


class Paused(NamedTuple):
    """While `paused`, no step starts. Steps in flight continue."""

    paused: bool

    @property
    def key(self) -> tuple[()]:
        """The key under which the record is stored."""
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
    | ThrottleLease
    | UpstreamStep
    | Acl
    | ScramCredential
    | UserTask
    | DryRun
    | LoadHours
    | DiskMove
)
"""The durable records. Each replaces the earlier one with the same `key`."""


class Deleted(NamedTuple):
    """The deletion of the record of this class with this key."""

    kind: type[Record]
    key: object


Change = Record | Deleted | AuditEntry | AuditTrim
"""What a store commits. Entries of the audit log are no records: `Store.load` does not return them."""


T = TypeVar("T", bound=tuple[object, ...])


def row_maker(kind: type[T]) -> Callable[[tuple[object, ...]], T]:
    """Return a constructor from complete tuples.

    It costs a third of the class's own: it checks nothing, has no defaults.
    """
    return partial(tuple.__new__, kind)
