"""The records of jobs and of their partitions that ended (KIP-236)."""

from enum import IntEnum
from typing import NamedTuple

from controller.model.limits import NO_LIMITS, PlanLimits
from controller.model.replicas import Replicas, TopicPartition

PRIORITIES = (-1000, 1000)
"""The lowest and the highest priority of a job."""


class JobKind(IntEnum):
    """The kind of request that created a job."""

    PLAN = 0
    ROLLBACK = 1
    QUEUE = 2
    DISKS = 3
    """Replicas move between log directories of their brokers."""


class Job(NamedTuple):
    """What was accepted in one request (KIP-236). Times are milliseconds since 1970."""

    id: int
    kind: JobKind
    created_ms: int
    principal: str
    client_id: str | None
    total: int = 0
    """The number of its partitions."""
    priority: int = 0
    """Jobs with a higher priority start first."""
    paused: bool = False
    ended_ms: int = 0
    """When its last partition ended; 0 while it runs."""
    undoes: int = 0
    """The job that a rollback undoes; 0 for other jobs."""
    throttle: int = 0
    """Bytes per second for its replicas in flight; 0 for no throttle of its own."""
    elects: bool = False
    """Whether the preferred leader of each partition is elected when its last step ends."""
    until_ms: int = 0
    """When the job is rolled back automatically; 0 for never."""
    limits: PlanLimits = NO_LIMITS
    """Its own limits of KIP-435, which apply to its steps in addition to those of the cluster."""

    @property
    def key(self) -> int:
        """The key under which the record is stored."""
        return self.id


class Ending(IntEnum):
    """How a partition's part in a job ended."""

    DONE = 0
    ROLLED_BACK = 1
    TAKEN = 2
    TOPIC_DELETED = 3
    STOPPED = 4


GONE = "the topic was deleted"
"""Why a rollback leaves a partition as it is."""
TOPIC_GONE = -1
"""In `Finished.taken_by`: the row is about a topic that does not exist any more. Another one may have its
name."""


class Finished(NamedTuple):
    """The ended part of a partition in a job. A rollback of the job uses it (KIP-236)."""

    job: int
    topic: str
    partition: int
    original: Replicas
    target: Replicas
    ending: Ending
    taken_by: int = 0
    """The job that took the partition over, when `ending` is TAKEN; TOPIC_GONE when the topic was deleted
    later."""

    @property
    def key(self) -> tuple[int, TopicPartition]:
        """The key under which the record is stored."""
        return (self.job, TopicPartition(self.topic, self.partition))


class Pending(NamedTuple):
    """A queued target for a partition that is rolled back first (KIP-236, `reassign_partitions_queue`)."""

    topic: str
    partition: int
    target: Replicas
    job: int
    topic_id: str = ""
    """As in `Reassignment`."""

    @property
    def key(self) -> TopicPartition:
        """The key under which the record is stored."""
        return tuple.__new__(TopicPartition, self[:2])


class PlannedStep(NamedTuple):
    """A step that a planner computed in advance: its wave, from 0, and the replica list at its end."""

    wave: int
    replicas: Replicas
