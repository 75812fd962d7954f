"""The records of the cluster.

Every value is an immutable record: the same object is held in memory, written to the store and carried by
effects, so that the three can never disagree. A change replaces the record.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from controller.model.access import Acl, ScramCredential
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.configs import Config, ResourceType, ThrottleLease
from controller.model.disks import DiskMove
from controller.model.held_requests import HeldRequest
from controller.model.jobs import Ending, Finished, Job, JobKind, Pending
from controller.model.load_hours import LoadHours
from controller.model.replicas import NO_ID, NO_LEADER, Partition, Reassignment, Replicas, TopicPartition
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
    | HeldRequest
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
