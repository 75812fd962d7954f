"""Our own records as rows of JSON: what Kafka's znodes have no place for.

A row is a list, its values in the order of the record's fields; replica lists are lists, kinds and endings numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from backends.zookeeper.znodes.fields import ZnodeError
from controller.model.cluster import (
    Ending,
    Finished,
    Job,
    JobKind,
    Lease,
    Paused,
    Pending,
    Reassignment,
    Record,
    ResourceType,
    TopicPartition,
)

Row = list[Any]


class Dropped(NamedTuple):
    """A replica that was dropped, and whose broker has not confirmed yet that its log is gone; see `backends.zookeeper.store.drops`."""

    topic: str
    partition: int
    broker: int
    leader_epoch: int
    """The partition's when it was dropped."""

    @property
    def key(self) -> tuple[str, int, int]:
        """What the note is stored under."""
        return self.topic, self.partition, self.broker

    @property
    def partition_key(self) -> TopicPartition:
        """Whose replica it was."""
        return TopicPartition(self.topic, self.partition)


Kept = Record | Dropped
"""What our znodes hold: the core's records, and notes of this backend."""


class RecordCodec(NamedTuple):
    """`folder` is the znode under which the records of a kind are kept."""

    folder: str
    read: Callable[[Row], Kept]


def _reassignment(row: Row) -> Reassignment:
    topic, partition, original, target, *rest = row
    return Reassignment(topic, partition, tuple(original), tuple(target), *rest)


def _job(row: Row) -> Job:
    number, kind, *rest = row
    return Job(number, JobKind(kind), *rest)


def _finished(row: Row) -> Finished:
    job, topic, partition, original, target, ending, taken_by = row
    return Finished(job, topic, partition, tuple(original), tuple(target), Ending(ending), taken_by)


def _pending(row: Row) -> Pending:
    topic, partition, target, job = row
    return Pending(topic, partition, tuple(target), job)


def _lease(row: Row) -> Lease:
    resource, *rest = row
    return Lease(ResourceType(resource), *rest)


def _dropped(row: Row) -> Dropped:
    topic, partition, broker, leader_epoch = row
    return Dropped(topic, int(partition), int(broker), int(leader_epoch))


KINDS: dict[type[Kept], RecordCodec] = {
    Job: RecordCodec("jobs", _job),
    Reassignment: RecordCodec("reassignments", _reassignment),
    Finished: RecordCodec("finished", _finished),
    Pending: RecordCodec("pending", _pending),
    Paused: RecordCodec("paused", lambda row: Paused(*row)),
    Lease: RecordCodec("leases", _lease),
    Dropped: RecordCodec("dropped", _dropped),
}
"""In the order of loading."""


def read_row(kind: type[Kept], row: Any) -> Kept:
    """The record. Raises ZnodeError."""
    try:
        return KINDS[kind].read(row)
    except (TypeError, ValueError) as error:
        raise ZnodeError(f"{str(row)[:80]} is not a {kind.__name__}") from error
