"""A data directory as the source or the target of a move."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.sqlite.audit import AuditReader
from backends.sqlite.datadir import DATABASE, StoreError, lock
from backends.sqlite.store import SqliteStore
from backends.state_topic.rows import Meta
from backends.upstream import own_records
from common.durable_file import replace_file
from controller.model.audit import AuditEntry, AuditFilter
from reassignd.config.config import UPSTREAM
from reassignd.errors import CommandError
from reassignd.runtime.storage import identity
from reassignd.transfer.rows import Contents
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
                f"{self.path / own_records.FILE} is of an older version: start `reassignd serve` once on {self.path}"
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
