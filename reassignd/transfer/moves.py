"""The moves: a directory into the topic and back, and a file into a new topic.

Each move can be repeated after an interruption: the source is marked as moved at the end, and a target that
has the same records already is not written again.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from backends.sqlite.audit import AuditReader
from backends.sqlite.datadir import DATABASE, StoreError, lock
from backends.sqlite.store import SqliteStore
from backends.state_topic.state_rows import Meta
from backends.upstream import own_records
from common.durable_file import replace_file
from common.wording import counted
from controller.model.audit import AuditEntry, AuditFilter
from reassignd.config.errors import CommandError
from reassignd.config.settings import UPSTREAM
from reassignd.runtime.storage import identity
from reassignd.transfer.topic import Topic
from reassignd.transfer.topic_rows import Contents, from_lines, same, to_lines
from server.gateway import port_assignments
from server.gateway.port_assignments import PortAssignmentError, PortAssignments

EVERYTHING = AuditFilter()
ENTRIES = 100
"""Entries of the audit log that are read or written at a time."""


class Directory:
    """A locked data directory."""

    def __init__(self, path: Path, store: SqliteStore, reader: AuditReader) -> None:
        self.path, self._store, self._reader = path, store, reader
        self.name = str(path.absolute())

    @property
    def is_empty(self) -> bool:
        """Whether it has no records yet."""
        return not identity.values(self.path)

    @property
    def moved_to(self) -> str:
        """The state topic that has the newer records; empty if this directory has them."""
        return identity.values(self.path).get(identity.MOVED, "")

    def read(self) -> Contents:
        """Return the records. Raises CommandError if they are damaged, or not those of a gateway."""
        values = identity.values(self.path)
        if values.get(identity.BACKEND) != UPSTREAM or identity.UPSTREAM_ID not in values:
            raise CommandError(
                f"{self.path} has no records of a gateway that has reached its cluster (backend=upstream)"
            )
        if (self.path / own_records.FILE).exists():
            raise CommandError(
                f"{self.path / own_records.FILE} is of an older version: start `reassignd serve` once on"
                f" {self.path}"
            )
        try:
            records, ports = list(self._store.load()), PortAssignments(self.path).positions
        except (StoreError, PortAssignmentError) as error:
            raise CommandError(str(error)) from error
        meta = Meta(cluster_id=values[identity.KEY], upstream_cluster_id=values[identity.UPSTREAM_ID])
        newest = self._reader.newest(EVERYTHING, 1)
        return Contents(records, meta, ports, newest[0] if newest else None)

    def entries(self) -> Iterator[list[AuditEntry]]:
        """Yield the audit log, the oldest entries first, in groups."""
        after = 0
        while entries := self._reader.oldest(EVERYTHING, ENTRIES, after):
            yield entries
            after = entries[-1].id

    def mark_moved(self, topic: str) -> None:
        """Refuse `serve` on this directory from now on."""
        identity.write_values(self.path, identity.values(self.path) | {identity.MOVED: topic})

    async def write(self, contents: Contents, entries: list[AuditEntry]) -> None:
        """Write the contents and the audit log into an empty directory."""
        await self._store.commit(contents.records)
        for start in range(0, len(entries), ENTRIES):
            await self._store.commit(entries[start : start + ENTRIES])
        positions = {str(broker): position for broker, position in contents.ports.items()}
        await asyncio.to_thread(
            replace_file, self.path / port_assignments.FILE, json.dumps(positions, indent=1) + "\n"
        )
        values = {
            identity.KEY: contents.meta.cluster_id,
            identity.BACKEND: UPSTREAM,
            identity.UPSTREAM_ID: contents.meta.upstream_cluster_id,
        }
        identity.write_values(self.path, values)


@contextmanager
def existing(path: Path) -> Iterator[Directory]:
    """Lock a directory with records. Raises CommandError without records, or if it is in use or damaged."""
    if not (path / DATABASE).exists():
        raise CommandError(f"{path} has no records ({DATABASE} is missing)")
    with _opened(path) as directory:
        yield directory


@contextmanager
def target(path: Path) -> Iterator[Directory]:
    """Lock the directory of `Directory.write`, and create it if needed. Raises CommandError if it is in use.

    A database without an identity is what an interrupted move has left, and is removed.
    """
    if (path / DATABASE).exists() and not identity.values(path):
        try:
            with lock(path):
                for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
                    (path / name).unlink(missing_ok=True)
        except (StoreError, OSError) as error:
            raise CommandError(str(error)) from error
    with _opened(path) as directory:
        yield directory


@contextmanager
def _opened(path: Path) -> Iterator[Directory]:
    try:
        store = SqliteStore(path)
    except StoreError as error:
        raise CommandError(str(error)) from error
    reader = store.audit_reader()
    try:
        yield Directory(path, store, reader)
    finally:
        reader.close()
        store.close()


def export_directory(path: Path) -> Iterable[bytes]:
    """Yield the records of a directory as JSON lines. Raises CommandError."""
    with existing(path) as directory:
        yield from to_lines(directory.read().rows())


async def export_topic(topic: Topic) -> Iterable[bytes]:
    """Return the rows of the topic as JSON lines. Raises CommandError for rows of another cluster."""
    await topic.read()
    await _contents(topic)
    return to_lines(topic.rows)


async def import_directory(topic: Topic, path: Path) -> str:
    """Move the records of a directory into the topic. Returns what was done."""
    with existing(path) as directory:
        if directory.moved_to:
            return f"the records in {path} were moved to the state topic {directory.moved_to} before"
        contents = directory.read()
        if contents.meta.upstream_cluster_id != topic.cluster_id:
            raise CommandError(
                f"the records in {path} are those of cluster {contents.meta.upstream_cluster_id}, not of"
                f" {topic.cluster_id}"
            )
        rows = contents.rows()
        async with topic.term() as writer:
            if not await _is_there(topic, contents):
                for entries in directory.entries():
                    await topic.append_entries(entries)
                await topic.replace(writer, rows)
        directory.mark_moved(f"{topic.name} of cluster {topic.cluster_id}")
    return f"moved {counted(len(contents.records), 'record')} from {path} to the state topic {topic.name}"


async def _is_there(topic: Topic, contents: Contents) -> bool:
    """Return whether the topic has the same.

    Raises CommandError if it has other records that were not moved away.
    """
    present = await topic.contents()
    if present is None or present.meta.moved_to:
        return False
    if await same(present, contents):
        return True
    raise CommandError(
        f"the state topic {topic.name} has records already: set state.topic to another name, or move these"
        " records to a data directory with `reassignd state export --data-dir`"
    )


async def export_to_directory(topic: Topic, path: Path) -> str:
    """Move the records of the topic to a directory; no instance uses the topic afterwards.

    Returns what was done.
    """
    with target(path) as directory:
        # Before the term: its beats would wait while the directory is read.
        written = None if directory.is_empty else directory.read()
        async with topic.term() as writer:
            contents = await _contents(topic)
            meta = contents.meta
            if meta.moved_to:
                return f"the records of the state topic {topic.name} were moved to {meta.moved_to} before"
            if written is None:
                await directory.write(contents, await topic.entries())
            elif not await same(written, contents):
                raise CommandError(f"{directory.path} has other records: choose another directory")
            moved = structs.replace(meta, moved_to=directory.name)
            await topic.write(writer, [moved.encode()])
    return f"moved the records of the state topic {topic.name} to {path}"


async def _contents(topic: Topic) -> Contents:
    contents = await topic.contents()
    if contents is None:
        raise CommandError(f"the state topic {topic.name} has no records: no instance was active yet")
    return contents


async def recreate(topic: Topic, lines: Iterable[bytes]) -> str:
    """Write the rows of `export_topic` into an empty topic. Returns what was done."""
    rows = from_lines(lines, topic.cluster_id)
    async with topic.term() as writer:
        if topic.rows:
            raise CommandError(f"the state topic {topic.name} has records already: delete the topic first")
        await topic.replace(writer, rows)
    return f"wrote {counted(len(rows), 'row')} to the state topic {topic.name}"
