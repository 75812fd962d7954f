"""reassignd's own records in ZooKeeper, for which Kafka has no znodes: JSON rows in chunks.

A row is a list of the record's fields in order. Replica lists are lists; enumerations are numbers.
`/reassignd/KIND/NUMBER` is a chunk, a znode of at most CHUNK_RECORDS records; each record of a kind whose
records are larger, such as user tasks, has a chunk of its own. One znode for each record would need too many
operations, and one for all records would exceed ZooKeeper's limit of 1 MB. A change rewrites one chunk.
Records are loaded by chunk number, then by their order in the chunk; both are the order in which they were
added, and a record that changes keeps its place. An empty chunk is deleted.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import (
    Change,
    Deleted,
    Finished,
    Job,
    Paused,
    Pending,
    Reassignment,
    Record,
    ThrottleLease,
    TopicPartition,
)
from controller.model.disks import DiskMove
from controller.model.held_requests import HeldRequest
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask


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


class ChunkForm(NamedTuple):
    """How the records of one kind are stored; `parent` is the name of the znode above their chunks."""

    parent: str
    most: int | None = None
    """Records of a chunk; None for `CHUNK_RECORDS`. A znode has at most a megabyte."""


CHUNK_FORMS: dict[type[StoredRecord], ChunkForm] = {
    Job: ChunkForm("jobs"),
    Reassignment: ChunkForm("reassignments"),
    Finished: ChunkForm("finished"),
    Pending: ChunkForm("pending"),
    Paused: ChunkForm("paused"),
    ThrottleLease: ChunkForm("leases"),
    Dropped: ChunkForm("dropped"),
    UserTask: ChunkForm("user_tasks", 1),
    DryRun: ChunkForm("dry_runs", 1),
    HeldRequest: ChunkForm("held_requests", 1),
    LoadHours: ChunkForm("load_hours", 1),
    DiskMove: ChunkForm("disk_moves"),
}
"""In the order in which the kinds are loaded."""


def read_row(kind: type[StoredRecord], row: object) -> StoredRecord:
    """Return the record of a row, as it was decoded from JSON. Raises ZnodeError.

    Rows of earlier versions may lack the last fields, if these have defaults.
    """
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise ZnodeError(f"{str(row)[:80]} is not a {kind.__name__}: {error}") from error


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
        self._last: dict[type[StoredRecord], int] = dict.fromkeys(CHUNK_FORMS, 0)
        """By kind: the number of the chunk that new records are added to."""
        self._existing: set[str] = set()
        """Paths of chunks that exist in ZooKeeper."""
        self._changed: dict[ChunkId, None] = {}

    @staticmethod
    def keeps(change: Change) -> bool:
        """Return whether the record is kept in chunks, not in Kafka's znodes."""
        return (change.kind if isinstance(change, Deleted) else type(change)) in CHUNK_FORMS

    def records(self) -> Iterator[Record]:
        """Yield the controller's records, in the order of `CHUNK_FORMS`."""
        for kind in CHUNK_FORMS:
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
        kind = next((each for each, codec in CHUNK_FORMS.items() if codec.parent == parent), None)
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
        if len(self._chunks.setdefault((kind, last), {})) >= (CHUNK_FORMS[kind].most or CHUNK_RECORDS):
            last = self._last[kind] = last + 1
            self._chunks[kind, last] = {}
        return last


def chunk_parent(kind: type[StoredRecord]) -> str:
    """Return the path of the parent of a kind's chunks."""
    return f"{paths.OURS}/{CHUNK_FORMS[kind].parent}"


def chunk_parents() -> Iterable[str]:
    """Return the paths of the parents of all chunks."""
    return map(chunk_parent, CHUNK_FORMS)


def encode_chunks(data: ChunkData) -> bytes:
    """Return the data of several chunks as one document, for the redo log."""
    return encode({path: None if content is None else content.decode() for path, content in data.items()})


def decode_chunks(data: bytes | None) -> ChunkData:
    """Read a document of the redo log. Raises ZnodeError."""
    value = decode_object(data)
    if not all(each is None or isinstance(each, str) for each in value.values()):
        raise ZnodeError("it is not a document of chunks")
    return ChunkData({path: None if text is None else text.encode() for path, text in value.items()})
