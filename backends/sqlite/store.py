"""The store in SQLite: a table for each kind of record, one writer thread, one flush for waiting commits.

`sqlite3 records.db 'select * from reassignments'` shows the durable records: replica lists are text such as
`1,2,3`. `backends.sqlite.tables` converts records to rows; `backends.sqlite.datadir` locks and checks the
directory.
"""

import asyncio
import contextlib
import itertools
import logging
import sqlite3
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from backends.sqlite.audit import AuditReader, index_topics, insert_entries, trim_entries
from backends.sqlite.datadir import DATABASE, StoreError, check_database, damaged, lock, open_database
from backends.sqlite.tables import TABLES
from common.off_loop import short_turns
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Deleted, Record

log = logging.getLogger(__name__)

_CHUNK = 6_000
"""Changes converted to rows at a time, so that the event loop never waits long for the GIL."""

PART = 3_000
"""Changes of a decision that are written while the rest is decided. With fewer, statements have too few
rows."""

INDEX_SECONDS = 1.0
"""Time after an entry of the audit log until its topics are indexed."""
INDEX_PAUSE_SECONDS = 0.02
"""Between two batches of the index."""


class _Commit(NamedTuple):
    """Changes to write: a whole commit, a part of a later one, or the last part."""

    changes: Sequence[Change]
    done: asyncio.Future[None] | None
    """None for a part that other changes of the same commit follow."""
    ends_parts: bool = False
    """Whether parts of the same commit were written before."""


class SqliteStore:
    """Implements `controller.ports.Store` in a directory that it locks and, if needed, creates.

    All calls of `commit` belong to one event loop. After a failed commit all later ones fail: memory is then
    ahead of the disk. With `recovers`, which is for an audit log alone, each later commit is tried. Raises
    StoreError if the directory is in use, is damaged, was written by a newer version, or cannot be written.
    """

    def __init__(self, directory: Path, *, recovers: bool = False) -> None:
        self._directory, self._recovers = directory, recovers
        self._lock = lock(directory)
        try:
            self._database = open_database(directory)
        except BaseException:
            self._lock.close()
            raise
        try:
            check_database(self._database, directory)
        except BaseException:
            self._database.close()
            self._lock.close()
            raise
        self._waiting: deque[_Commit] = deque()
        self._growing: Sequence[Change] | None = None
        """The changes of a commit to come; the first `_handed` of them were handed to the writer."""
        self._handed = 0
        self._wake = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._unfinished: list[_Commit] = []
        """The writer has executed their statements, and not ended the transaction yet."""
        self._has_part = False
        """Whether the transaction has a part of a commit whose other changes follow."""
        self._index_at: float | None = 0.0
        """When the topics of the audit log are to be indexed next; None: when another entry was written."""
        # A process that ends by an error before `close` must end: what was acknowledged is on the disk.
        self._writer = threading.Thread(target=self._write, name="record-store", daemon=True)
        self._writer.start()

    def load(self) -> Iterator[Record]:
        """Yield all records in the order of `Store.load`. Raises StoreError if they are damaged."""
        reader = open_database(self._directory)
        try:
            for table in TABLES.values():
                yield from table.load(reader)
        except (sqlite3.DatabaseError, ValueError, TypeError, LookupError) as error:
            raise damaged(self._directory, error) from error
        finally:
            reader.close()

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. The changes are in a transaction that ends with their commit."""
        with self._wake:
            if self._growing is not changes:
                self._growing, self._handed = changes, 0
            if len(changes) - self._handed >= PART:
                self._waiting.append(_Commit(changes[self._handed :], None))
                self._handed = len(changes)
                self._wake.notify()

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Queue the changes, which the caller must not modify. The future completes when they are durable."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._wake:
            if self._closing:
                raise self._closed()
            handed = 0
            if self._growing is changes:
                handed, self._growing = self._handed, None
            self._waiting.append(
                _Commit(changes[handed:] if handed else changes, done, ends_parts=handed > 0)
            )
            self._wake.notify()
        return done

    def audit_reader(self) -> AuditReader:
        """Return a new reader of the audit log. The caller closes it."""
        return AuditReader(self._directory / DATABASE)

    def close(self) -> None:
        """Write the waiting commits, then release the directory. Blocks until then."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._writer.join()
        self._database.close()
        self._lock.close()

    def _closed(self) -> StoreError:
        return StoreError(f"the store in {self._directory} is closed")

    def _write(self) -> None:
        while not self._closing or self._waiting:
            for waiting in self._next_group():
                if waiting.done is None and not self._has_part:
                    # Earlier commits do not wait until the rest of this one is decided.
                    self._end_transaction()
                self._write_changes(waiting)
            if not self._has_part:
                self._end_transaction()
                self._index()
        if self._has_part:
            self._fail(self._closed())
            self._end_transaction()

    def _next_group(self) -> list[_Commit]:
        """Wait for commits and return all that are waiting.

        An empty list when the store closes or the index is due.

        The index waits for the end of a transaction with a part.
        """
        left = None
        if self._index_at is not None and not self._has_part:
            left = max(0.0, self._index_at - monotonic())
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closing, left)
            group = list(self._waiting)
            self._waiting.clear()
        return group

    def _index(self) -> None:
        """Index topics of the audit log when it is due, in the time between two transactions."""
        if self._index_at is None or monotonic() < self._index_at:
            return
        try:
            more = self._failure is None and index_topics(self._database)
        except sqlite3.Error as error:
            # Searches read the entries themselves. The next commit has the same error, if it lasts.
            log.warning("the audit log is not indexed by topics for now: %s", error)
            more = False
        self._index_at = monotonic() + INDEX_PAUSE_SECONDS if more else None

    def _write_changes(self, waiting: _Commit) -> None:
        """Execute the statements of the changes, in a transaction that others of the group share."""
        self._unfinished.append(waiting)
        self._has_part = waiting.done is None or (self._has_part and not waiting.ends_parts)
        if self._failure is not None:
            return
        changes, audited = iter(waiting.changes), False
        # While the rest of a commit is decided, the event loop hardly ever waits, and keeps the GIL for 5 ms.
        turns = short_turns if waiting.done is None else contextlib.nullcontext()
        with self._noting_failure(), turns:
            if not self._database.in_transaction:
                self._database.execute("BEGIN IMMEDIATE")
            while chunk := list(itertools.islice(changes, _CHUNK)):
                audited |= _apply(self._database, chunk)
        if audited and self._index_at is None:
            self._index_at = monotonic() + INDEX_SECONDS

    def _end_transaction(self) -> None:
        """Make the changes durable, and report this to those who wait for it."""
        if not self._unfinished:
            return
        if self._failure is None:
            with self._noting_failure():
                self._database.execute("COMMIT")
        _report(self._unfinished, self._failure)
        self._unfinished = []
        if self._recovers and not self._database.in_transaction:
            self._failure = None

    @contextlib.contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            remedy = "free disk space or mend the disk"
            if not self._recovers:
                remedy += ", then start again: nothing that was acknowledged is lost"
            self._fail(StoreError(f"records cannot be written to {self._directory} ({error}); {remedy}"))
        except Exception as error:  # noqa: BLE001 - who waits for the commit gets it
            # Such as a record that SQLite cannot hold. The writer must go on, or no commit would ever end.
            self._fail(error)

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        # After some errors SQLite has rolled back itself.
        with contextlib.suppress(sqlite3.Error):
            self._database.rollback()


def _apply(database: sqlite3.Connection, changes: Sequence[Change]) -> bool:
    """Apply the changes table by table: their order matters only within a table.

    Return whether the audit log has new entries.
    """
    by_class: defaultdict[Any, list[Any]] = defaultdict(list)
    for change in changes:
        by_class[type(change)].append(change)
    for trim in by_class.pop(AuditTrim, ()):
        trim_entries(database, trim.before)
    entries = by_class.pop(AuditEntry, [])
    insert_entries(database, entries)
    deleted: defaultdict[type[Record], list[object]] = defaultdict(list)
    for kind, key in by_class.pop(Deleted, ()):
        deleted[kind].append(key)
    for kind, keys in deleted.items():
        if kind in by_class:
            _apply_mixed(kind, database, changes)
            del by_class[kind]
        else:
            TABLES[kind].delete(database, keys)
    for kind, records in by_class.items():
        TABLES[kind].upsert(database, records)
    return bool(entries)


def _apply_mixed(kind: type[Record], database: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Apply all deletes of this kind, then all upserts.

    Of several changes of a key only the last one has an effect.
    """
    deleted: dict[object, None] = {}
    put: dict[object, Record] = {}
    for change in changes:
        if isinstance(change, Deleted) and change.kind is kind:
            put.pop(change.key, None)
            deleted[change.key] = None
        elif isinstance(change, kind):
            put[change.key] = change
    table = TABLES[kind]
    table.delete(database, list(deleted))
    table.upsert(database, list(put.values()))


def _report(group: list[_Commit], failure: Exception | None) -> None:
    """Complete the futures of the commits in their event loop."""
    futures = [waiting.done for waiting in group if waiting.done is not None]

    def resolve() -> None:
        for done in futures:
            if done.cancelled():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)

    # If the event loop is closed, no caller is waiting. The changes are durable all the same.
    with contextlib.suppress(RuntimeError):
        if futures:
            futures[0].get_loop().call_soon_threadsafe(resolve)
