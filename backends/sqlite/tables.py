"""The tables of the database, which are readable with the sqlite3 command.

`backends.record_forms` has their columns.

`Table` has the SQL statements of one: upserts and deletes of many rows each, and loading.
"""

import functools
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from backends.record_forms import FORMS, RecordForm, StoredRow
from controller.model.cluster import Record, Topic

_ROWS = 1_000, 50, 1
"""Rows of a statement. Each statement releases the GIL once, and a busy event loop is slow to give it back.
Few sizes need few prepared statements."""
_DELETED = 50, 1
"""Keys of a statement. SQLite limits the depth of expressions."""
_LOADED = 1_000
"""Rows that are converted at a time while records are loaded."""


class Table:
    """The SQL of the table for one kind of record. `order` names the columns that order the records."""

    def __init__(self, form: RecordForm, order: str) -> None:
        listed, key = ", ".join(form.columns), ", ".join(form.columns[: form.keys])
        source = f"FROM {form.name}"
        updates = ", ".join(f"{column} = excluded.{column}" for column in form.columns[form.keys :])
        self._form = form
        self._insert = " ".join(["INSERT INTO", form.name, f"({listed}) VALUES "])
        # A record that is all key cannot change.
        self._conflict = f" ON CONFLICT ({key}) DO {f'UPDATE SET {updates}' if updates else 'NOTHING'}"
        self._delete = f"DELETE {source} WHERE "
        *same, last = form.columns[: form.keys]
        matches = [f"{column} = ?" for column in same]
        self._match = "(" + " AND ".join([*matches, f"{last} = ?"]) + ")"
        self._numbered = last == "partition"
        """Whether the last key column has consecutive numbers, which one range can delete."""
        self._range = self._delete + " AND ".join([*matches, f"{last} BETWEEN ? AND ?"])
        self._select = f"SELECT {listed} {source} ORDER BY {order}"

    def upsert(self, database: sqlite3.Connection, records: Sequence[Any]) -> None:
        """Insert the records in order.

        A record whose key exists replaces the values and keeps its position.
        """
        for count, values in _batches(map(self._form.to_row, records), len(records)):
            database.execute(
                f"{self._insert}{_placeholders(len(self._form.columns), count)}{self._conflict}", values
            )

    def delete(self, database: sqlite3.Connection, keys: Sequence[Any]) -> None:
        """Delete the rows with these keys."""
        rows = list(map(self._form.key_to_row, keys))
        if self._numbered:
            runs = list(_runs(rows))
            database.executemany(self._range, [(*run.first, run.last) for run in runs if run.length > 1])
            rows = [run.first for run in runs if run.length == 1]
        for count, values in _batches(rows, len(rows), _DELETED):
            database.execute(self._delete + " OR ".join([self._match] * count), values)

    def load(self, database: sqlite3.Connection) -> Iterator[Record]:
        """Return all records of the table. Iteration raises ValueError or TypeError for an invalid row."""
        rows = database.execute(self._select)
        slices = iter(functools.partial(rows.fetchmany, _LOADED), [])
        return itertools.chain.from_iterable(map(self._form.to_records, slices))


class _Run(NamedTuple):
    """Keys that differ in their last number only, which increases by one."""

    first: StoredRow
    length: int

    @property
    def last(self) -> int:
        """The number of the last key."""
        number: int = self.first[-1]
        return number + self.length - 1


def _runs(keys: Iterable[StoredRow]) -> Iterator[_Run]:
    """Yield the keys, which are sorted or nearly so, in runs."""
    first: StoredRow = ()
    group: StoredRow = ()
    following = length = 0
    for key in keys:
        if length and key[-1] == following and key[:-1] == group:
            length += 1
        else:
            if length:
                yield _Run(first, length)
            first, group, length, following = key, key[:-1], 1, key[-1]
        following += 1
    if length:
        yield _Run(first, length)


def _batches(
    rows: Iterable[StoredRow], count: int, sizes: Sequence[int] = _ROWS
) -> Iterator[tuple[int, list[Any]]]:
    """Yield groups of rows as (number of rows, flat values).

    Each group has the largest of the sizes that is left.
    """
    rows = iter(rows)
    for size in sizes:
        times, count = divmod(count, size)
        for _ in range(times):
            yield size, list(itertools.chain.from_iterable(itertools.islice(rows, size)))


@functools.cache
def _placeholders(width: int, count: int) -> str:
    return ", ".join(["(" + ", ".join("?" * width) + ")"] * count)


_SUBMISSIONS = """
CREATE TABLE submissions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, base TEXT NOT NULL, following TEXT NOT NULL,
    stage TEXT NOT NULL, turned_from TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
"""

_SUBMISSION_EPOCH = "ALTER TABLE submissions ADD COLUMN epoch INTEGER NOT NULL DEFAULT -1;"

_JOB_ENDS = """
ALTER TABLE jobs ADD COLUMN elects INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN until_ms INTEGER NOT NULL DEFAULT 0;
"""

_JOB_LIMITS = "ALTER TABLE jobs ADD COLUMN limits TEXT NOT NULL DEFAULT '';"

_USER_TASKS = """
CREATE TABLE user_tasks (
    id TEXT PRIMARY KEY, started_ms INTEGER NOT NULL, endpoint TEXT NOT NULL, url TEXT NOT NULL,
    client TEXT NOT NULL, principal TEXT NOT NULL, executes INTEGER NOT NULL, failed INTEGER NOT NULL,
    result TEXT NOT NULL
) WITHOUT ROWID;
"""

_DRY_RUNS = """
CREATE TABLE dry_runs (
    asked TEXT PRIMARY KEY, principal TEXT NOT NULL, proposal INTEGER NOT NULL, ended_ms INTEGER NOT NULL,
    plan TEXT NOT NULL, task TEXT NOT NULL
) WITHOUT ROWID;
"""

_LOAD_HOURS = """
CREATE TABLE load_hours (
    number INTEGER PRIMARY KEY, written_ms INTEGER NOT NULL, topics TEXT NOT NULL, hours TEXT NOT NULL
);
"""

_DISK_MOVES = """
CREATE TABLE disk_moves (
    sequence INTEGER PRIMARY KEY, job INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    broker INTEGER NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, size INTEGER NOT NULL,
    stage TEXT NOT NULL, reason TEXT NOT NULL, UNIQUE (job, topic, partition, broker)
);
"""

_HELD_REQUESTS = """
CREATE TABLE held_requests (
    id INTEGER PRIMARY KEY, held_ms INTEGER NOT NULL, endpoint TEXT NOT NULL, query TEXT NOT NULL,
    body TEXT NOT NULL, client TEXT NOT NULL, principal TEXT NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL, decided_by TEXT NOT NULL
);
"""

_ACCESS = """
CREATE TABLE acls (
    kind TEXT NOT NULL, name TEXT NOT NULL, pattern TEXT NOT NULL, principal TEXT NOT NULL,
    host TEXT NOT NULL, operation TEXT NOT NULL, permission TEXT NOT NULL,
    PRIMARY KEY (kind, name, pattern, principal, host, operation, permission)
) WITHOUT ROWID;
CREATE TABLE scram_credentials (
    user TEXT NOT NULL, mechanism TEXT NOT NULL, salt TEXT NOT NULL, stored_key TEXT NOT NULL,
    server_key TEXT NOT NULL, iterations INTEGER NOT NULL, PRIMARY KEY (user, mechanism)
) WITHOUT ROWID;
"""

SCHEMA = (
    _SUBMISSIONS
    + _SUBMISSION_EPOCH
    + _ACCESS
    + """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE controller (id INTEGER PRIMARY KEY CHECK (id = 0), epoch INTEGER NOT NULL);
CREATE TABLE brokers (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER NOT NULL, rack TEXT, epoch INTEGER NOT NULL
);
CREATE TABLE topics (name TEXT PRIMARY KEY, id TEXT NOT NULL, deleting INTEGER NOT NULL);
CREATE TABLE partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas TEXT NOT NULL, isr TEXT NOT NULL,
    leader INTEGER NOT NULL, leader_epoch INTEGER NOT NULL, partition_epoch INTEGER NOT NULL,
    adding TEXT NOT NULL, removing TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE reassignments (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, job INTEGER NOT NULL, blocked TEXT NOT NULL,
    UNIQUE (topic, partition)
);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, created_ms INTEGER NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, total INTEGER NOT NULL, priority INTEGER NOT NULL, paused INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL, undoes INTEGER NOT NULL, throttle INTEGER NOT NULL
);
CREATE TABLE finished (
    sequence INTEGER PRIMARY KEY, job INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, ending TEXT NOT NULL, taken_by INTEGER NOT NULL,
    UNIQUE (job, topic, partition)
);
CREATE TABLE pending (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    target TEXT NOT NULL, job INTEGER NOT NULL, UNIQUE (topic, partition)
);
CREATE TABLE paused (id INTEGER PRIMARY KEY CHECK (id = 0), paused INTEGER NOT NULL);
CREATE TABLE leases (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, ours TEXT NOT NULL, found TEXT,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
CREATE TABLE configs (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
"""
    + _JOB_ENDS
    + _JOB_LIMITS
    + _USER_TASKS
    + _DRY_RUNS
    + _LOAD_HOURS
    + _DISK_MOVES
    + _HELD_REQUESTS
)

UPGRADES = {
    1: "ALTER TABLE reassignments ADD COLUMN blocked TEXT NOT NULL DEFAULT '';" + _SUBMISSIONS,
    2: _SUBMISSION_EPOCH,
    3: _ACCESS,
    4: _JOB_ENDS,
    5: _JOB_LIMITS,
    6: _USER_TASKS,
    7: _DRY_RUNS,
    8: _LOAD_HOURS,
    9: _DISK_MOVES,
    10: _HELD_REQUESTS,
}
"""SQL by format version that converts the tables of that version to the next one."""


def _order(kind: type[Record]) -> str:
    """Return the columns that order the records of a kind.

    SQLite numbers the rows of topics without a column.
    """
    form = FORMS[kind]
    if form.ordered:
        return "rowid" if kind is Topic else "sequence"
    return ", ".join(form.columns[: form.keys])


TABLES: dict[type[Record], Table] = {kind: Table(form, _order(kind)) for kind, form in FORMS.items()}
"""Tables by kind of record, in the order of loading: topics before their partitions."""
