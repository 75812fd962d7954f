"""What is kept of jobs and their partitions (KIP-236)."""

from enum import IntEnum
from typing import NamedTuple

from controller.model.names import Replicas, TopicPartition


class JobKind(IntEnum):
    """What made a job."""

    PLAN = 0
    ROLLBACK = 1
    QUEUE = 2


class Job(NamedTuple):
    """All that was accepted in one request (KIP-236). Times are milliseconds since 1970."""

    id: int
    kind: JobKind
    created_ms: int
    principal: str
    client_id: str | None
    total: int = 0
    """Partitions that it took on."""
    priority: int = 0
    """Jobs with a higher one start first."""
    paused: bool = False
    ended_ms: int = 0
    """When its last partition was finished; 0 while it goes on."""
    undoes: int = 0
    """The job that a rollback takes back; 0 for others."""
    throttle: int = 0
    """Bytes a second for its replicas in flight; 0 for no throttle of its own."""

    @property
    def key(self) -> int:
        """What the record is stored under."""
        return self.id


class Ending(IntEnum):
    """How a partition's part in a job ended."""

    DONE = 0
    ROLLED_BACK = 1
    TAKEN = 2
    TOPIC_DELETED = 3
    STOPPED = 4


class Finished(NamedTuple):
    """A partition's part in a job, after its end; what a rollback of the whole job goes by (KIP-236)."""

    job: int
    topic: str
    partition: int
    original: Replicas
    target: Replicas
    ending: Ending
    taken_by: int = 0
    """The job that took the partition over, when `ending` is TAKEN."""

    @property
    def key(self) -> tuple[int, TopicPartition]:
        """What the record is stored under."""
        return (self.job, TopicPartition(self.topic, self.partition))


class Pending(NamedTuple):
    """A queued target for a partition that is rolled back first (KIP-236, reassign_partitions_queue)."""

    topic: str
    partition: int
    target: Replicas
    job: int

    @property
    def key(self) -> TopicPartition:
        """What the record is stored under."""
        return tuple.__new__(TopicPartition, self[:2])
