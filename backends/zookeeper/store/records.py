"""reassignd's own records in ZooKeeper, for which Kafka has no znodes: JSON rows in chunks.

A row is a list of the record's fields in order. Replica lists are lists; enumerations are numbers.
`/reassignd/KIND/NUMBER` is a chunk, a znode of at most CHUNK_RECORDS records; each record of a kind whose
records are larger, such as user tasks, has a chunk of its own. One znode for each record would need too many
operations, and one for all records would exceed ZooKeeper's limit of 1 MB. A change rewrites one chunk.
Records are loaded by chunk number, then by their order in the chunk; both are the order in which they were
added, and a record that changes keeps its place. An empty chunk is deleted.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import (
    Change,
    Deleted,
    Ending,
    Finished,
    Job,
    JobKind,
    Paused,
    Pending,
    Reassignment,
    Record,
    ResourceType,
    ThrottleLease,
    TopicPartition,
)
from controller.model.disks import DiskMove, MoveStage
from controller.model.held_requests import HeldRequest, HeldState
from controller.model.limits import PlanLimits
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask

StoredRow = list[Any]
"""The fields of a record in order, as decoded from JSON. `read_row` reports a field of another type."""


class Dropped(NamedTuple):
    """A dropped replica whose broker has not confirmed that the log is deleted.

    See `backends.zookeeper.store.drops`.
    """

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
    read: Callable[[StoredRow], StoredRecord]
    most: int | None = None
    """Records of a chunk; None for `CHUNK_RECORDS`. A znode has at most a megabyte."""


def _reassignment(row: StoredRow) -> Reassignment:
    topic, partition, original, target, *rest = row
    return Reassignment(topic, partition, tuple(original), tuple(target), *rest)


def _job(row: StoredRow) -> Job:
    number, kind, *rest = row  # of an earlier version without the last fields
    job = Job(number, JobKind(kind), *rest)
    return job._replace(limits=PlanLimits(*job.limits))


def _finished(row: StoredRow) -> Finished:
    job, topic, partition, original, target, ending, taken_by = row
    return Finished(job, topic, partition, tuple(original), tuple(target), Ending(ending), taken_by)


def _pending(row: StoredRow) -> Pending:
    topic, partition, target, *rest = row
    return Pending(topic, partition, tuple(target), *rest)


def _lease(row: StoredRow) -> ThrottleLease:
    resource, *rest = row
    return ThrottleLease(ResourceType(resource), *rest)


def _dropped(row: StoredRow) -> Dropped:
    topic, partition, broker, leader_epoch = row
    return Dropped(topic, int(partition), int(broker), int(leader_epoch))


def _task(row: StoredRow) -> UserTask:
    *texts, executes, failed, result = row
    identifier, started_ms, endpoint, url, client, principal = texts
    return UserTask(
        identifier, int(started_ms), endpoint, url, client, principal, bool(executes), bool(failed), result
    )


def _dry_run(row: StoredRow) -> DryRun:
    asked, principal, proposal, ended_ms, plan, task = row
    return DryRun(asked, principal, int(proposal), int(ended_ms), plan, task)


def _load_hours(row: StoredRow) -> LoadHours:
    number, written_ms, topics, hours = row
    return LoadHours(int(number), int(written_ms), topics, hours)


def _move(row: StoredRow) -> DiskMove:
    job, topic, partition, broker, source, target, size, stage, reason = row
    numbers = int(partition), int(broker)
    return DiskMove(int(job), topic, *numbers, source, target, int(size), MoveStage(stage), reason)


def _held(row: StoredRow) -> HeldRequest:
    number, held_ms, *texts, state, reason, decided_by = row
    endpoint, query, body, client, principal = texts
    return HeldRequest(
        int(number),
        int(held_ms),
        endpoint,
        query,
        body,
        client,
        principal,
        HeldState(state),
        reason,
        decided_by,
    )


CODECS: dict[type[StoredRecord], RecordCodec] = {
    Job: RecordCodec("jobs", _job),
    Reassignment: RecordCodec("reassignments", _reassignment),
    Finished: RecordCodec("finished", _finished),
    Pending: RecordCodec("pending", _pending),
    Paused: RecordCodec("paused", lambda row: Paused(*row)),
    ThrottleLease: RecordCodec("leases", _lease),
    Dropped: RecordCodec("dropped", _dropped),
    UserTask: RecordCodec("user_tasks", _task, 1),
    DryRun: RecordCodec("dry_runs", _dry_run, 1),
    HeldRequest: RecordCodec("held_requests", _held, 1),
    LoadHours: RecordCodec("load_hours", _load_hours, 1),
    DiskMove: RecordCodec("disk_moves", _move),
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


CHUNK_RECORDS = 200

REDO = f"{paths.OURS}/redo"
"""Parent of the redo log, which makes a write of many chunks atomic; see `backends.zookeeper.store.store`."""
REDO_COMPLETE = f"{REDO}/complete"
"""Exists when the redo log contains the whole write."""

Key = object
ChunkId = tuple[type[StoredRecord], int]
"""Kind of the records, and number of the chunk."""


class ChunkData(dict[str, bytes | None]):
    """New data of chunks: path -> data, None for a chunk to delete."""


class RecordChunks:
    """The records of one term, by chunk.

    `apply`, `put` and `remove` change them in memory. `take_changed` returns the chunks to write,
    `operations` the writes, and `written` must be called when they have succeeded.
    """

    def __init__(self) -> None:
        self._chunks: dict[ChunkId, dict[Key, StoredRecord]] = {}
        self._numbers: dict[tuple[type[StoredRecord], Key], int] = {}
        """By record: the number of its chunk."""
        self._last: dict[type[StoredRecord], int] = dict.fromkeys(CODECS, 0)
        """By kind: the number of the chunk that new records are added to."""
        self._existing: set[str] = set()
        """Paths of chunks that exist in ZooKeeper."""
        self._changed: dict[ChunkId, None] = {}

    @staticmethod
    def keeps(change: Change) -> bool:
        """Return whether the record is kept in chunks, not in Kafka's znodes."""
        return (change.kind if isinstance(change, Deleted) else type(change)) in CODECS

    def records(self) -> Iterator[Record]:
        """Yield the controller's records, in the order of `CODECS`."""
        for kind in CODECS:
            yield from (each for each in self._of(kind) if not isinstance(each, Dropped))

    def drops(self) -> Iterator[Dropped]:
        """Yield the notes of dropped replicas."""
        return (each for each in self._of(Dropped) if isinstance(each, Dropped))

    def _of(self, kind: type[StoredRecord]) -> Iterator[StoredRecord]:
        for number in sorted(number for each, number in self._chunks if each is kind):
            yield from self._chunks[kind, number].values()

    def read(self, path: str, data: bytes | None) -> None:
        """Load a chunk. Raises ZnodeError."""
        parent, _, name = path.removeprefix(f"{paths.OURS}/").partition("/")
        kind = next((each for each, codec in CODECS.items() if codec.parent == parent), None)
        rows = decode_object(data).get("records")
        if kind is None or not name.isdecimal() or not isinstance(rows, list):
            raise ZnodeError("it is not a chunk of records")
        number = int(name)
        records = [read_row(kind, row) for row in rows]
        self._existing.add(path)
        self._chunks[kind, number] = {each.key: each for each in records}
        self._numbers.update({(kind, each.key): number for each in records})
        self._last[kind] = max(self._last[kind], number)

    @property
    def changed(self) -> bool:
        """Whether there are changes that `take_changed` has not returned."""
        return bool(self._changed)

    def apply(self, change: Change) -> None:
        """Put or remove a record."""
        if isinstance(change, Deleted):
            self.remove(change.kind, change.key)
        elif not isinstance(change, AuditEntry | AuditTrim):
            self.put(change)

    def put(self, record: StoredRecord) -> None:
        """Insert or replace a record."""
        kind = type(record)
        number = self._numbers.get((kind, record.key))
        if number is None:
            number = self._numbers[kind, record.key] = self._number_with_space(kind)
        self._chunks[kind, number][record.key] = record
        self._changed[kind, number] = None

    def remove(self, kind: type[StoredRecord], key: Key) -> None:
        """Remove a record, if it exists."""
        number = self._numbers.pop((kind, key), None)
        if number is not None:
            del self._chunks[kind, number][key]
            self._changed[kind, number] = None

    def take_changed(self) -> ChunkData:
        """Return the new data of the chunks that changed since the last call."""
        data = ChunkData()
        for chunk in self._changed:
            kind, number = chunk
            path = f"{chunk_parent(kind)}/{number:010d}"
            rows = list(self._chunks[chunk].values())
            data[path] = encode({"version": 1, "records": rows}) if rows else None
            # New records still go into the last chunk, so it stays in memory even if it is empty.
            if not rows and number != self._last[kind]:
                del self._chunks[chunk]
        self._changed.clear()
        return data

    def operations(self, data: ChunkData) -> list[Operation]:
        """Return the writes that give the chunks this data."""
        operations: list[Operation] = []
        for path, content in data.items():
            if content is None:
                if path in self._existing:
                    operations.append(Delete(path))
            elif path in self._existing:
                operations.append(Set(path, content, ANY))
            else:
                operations.append(Create(path, content))
        return operations

    def written(self, data: ChunkData) -> None:
        """Note that the chunks have this data in ZooKeeper."""
        for path, content in data.items():
            if content is None:
                self._existing.discard(path)
            else:
                self._existing.add(path)

    def _number_with_space(self, kind: type[StoredRecord]) -> int:
        """Return the number of the last chunk, or of a new one if that is full."""
        last = self._last[kind]
        if len(self._chunks.setdefault((kind, last), {})) >= (CODECS[kind].most or CHUNK_RECORDS):
            last = self._last[kind] = last + 1
            self._chunks[kind, last] = {}
        return last


def chunk_parent(kind: type[StoredRecord]) -> str:
    """Return the path of the parent of a kind's chunks."""
    return f"{paths.OURS}/{CODECS[kind].parent}"


def chunk_parents() -> Iterable[str]:
    """Return the paths of the parents of all chunks."""
    return map(chunk_parent, CODECS)


def encode_chunks(data: ChunkData) -> bytes:
    """Return the data of several chunks as one document, for the redo log."""
    return encode({path: None if content is None else content.decode() for path, content in data.items()})


def decode_chunks(data: bytes | None) -> ChunkData:
    """Read a document of the redo log. Raises ZnodeError."""
    value = decode_object(data)
    if not all(each is None or isinstance(each, str) for each in value.values()):
        raise ZnodeError("it is not a document of chunks")
    return ChunkData({path: None if text is None else text.encode() for path, text in value.items()})
