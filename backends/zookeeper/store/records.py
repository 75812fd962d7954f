"""JSON rows of reassignd's own records, for which Kafka has no znodes.

A row is a list of the record's fields in order. Replica lists are lists; enumerations are numbers.
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
"""The fields of a record in order, as decoded from JSON. `read_row` reports a field of another type."""


class Dropped(NamedTuple):
    """A dropped replica whose broker has not confirmed that the log is deleted; see `backends.zookeeper.store.drops`."""

    topic: str
    partition: int
    broker: int
    leader_epoch: int
    """The partition's leader epoch when the replica was dropped."""

    @property
    def key(self) -> tuple[str, int, int]:
        """The key of the record."""
        return self.topic, self.partition, self.broker

    @property
    def partition_key(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


StoredRecord = Record | Dropped
"""The controller's records, and notes of this backend."""


class RecordCodec(NamedTuple):
    """How the records of one kind are stored; `parent` is the name of the znode above their chunks."""

    parent: str
    read: Callable[[Row], StoredRecord]


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
    topic, partition, target, *rest = row
    return Pending(topic, partition, tuple(target), *rest)


def _lease(row: Row) -> Lease:
    resource, *rest = row
    return Lease(ResourceType(resource), *rest)


def _dropped(row: Row) -> Dropped:
    topic, partition, broker, leader_epoch = row
    return Dropped(topic, int(partition), int(broker), int(leader_epoch))


CODECS: dict[type[StoredRecord], RecordCodec] = {
    Job: RecordCodec("jobs", _job),
    Reassignment: RecordCodec("reassignments", _reassignment),
    Finished: RecordCodec("finished", _finished),
    Pending: RecordCodec("pending", _pending),
    Paused: RecordCodec("paused", lambda row: Paused(*row)),
    Lease: RecordCodec("leases", _lease),
    Dropped: RecordCodec("dropped", _dropped),
}
"""In the order in which the kinds are loaded."""


def read_row(kind: type[StoredRecord], row: object) -> StoredRecord:
    """Return the record of a row, as it was decoded from JSON. Raises ZnodeError."""
    try:
        if not isinstance(row, list):
            raise TypeError("a row is a list")
        return CODECS[kind].read(row)
    except (TypeError, ValueError) as error:
        raise ZnodeError(f"{str(row)[:80]} is not a {kind.__name__}") from error
