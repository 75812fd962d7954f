"""The audit log in the database of the records.

An entry is in the same transaction as the records of its decision.

Each filter by principal, client, action and topic has an index with the ids at its end, so a page takes the
same time at any place of the log and with any filter. The index of topics has four rows for each topic of an
entry. `index_topics` adds them later, in batches, so that a commit does not wait for them. Searches by topic
read the entries that are not in the index yet.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError

AUDIT_SCHEMA = """
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, action TEXT NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, job INTEGER NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_by_principal ON audit (principal, action);
CREATE INDEX IF NOT EXISTS audit_by_client ON audit (client_id, action);
CREATE INDEX IF NOT EXISTS audit_by_both ON audit (principal, client_id, action);
CREATE INDEX IF NOT EXISTS audit_by_action ON audit (action);
CREATE INDEX IF NOT EXISTS audit_by_job ON audit (job) WHERE job > 0;
DROP TABLE IF EXISTS audit_topics;
CREATE TABLE IF NOT EXISTS audit_topic_entries (
    topic TEXT, action TEXT, entry INTEGER, principal TEXT NOT NULL, client_id TEXT,
    PRIMARY KEY (topic, action, entry)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS audit_by_topic_principal ON audit_topic_entries (topic, principal, action, entry);
CREATE INDEX IF NOT EXISTS audit_by_topic_client ON audit_topic_entries (topic, client_id, action, entry);
CREATE INDEX IF NOT EXISTS audit_by_topic_both
    ON audit_topic_entries (topic, principal, client_id, action, entry);
CREATE TABLE IF NOT EXISTS audit_indexed (id INTEGER PRIMARY KEY CHECK (id = 0), until INTEGER NOT NULL);
"""
"""Added to databases of every format: versions without the audit log ignore the tables.

An earlier version wrote `audit_topics`; the index of its entries is made like that of new ones.
"""

INDEX_BATCH = 25
"""Entries whose topics are indexed in one transaction: it takes a few milliseconds, which commits may wait
for."""

_INDEXED = "(SELECT ifnull(max(until), 0) FROM audit_indexed)"
_NEXT = f"SELECT max(id), count(*) FROM (SELECT id FROM audit WHERE id > {_INDEXED} ORDER BY id LIMIT ?)"  # noqa: S608
_INDEX_TOPICS = f"""
INSERT OR IGNORE INTO audit_topic_entries SELECT value, action, audit.id, principal, client_id
FROM audit, json_each(detail, '$.topics') WHERE audit.id > {_INDEXED} AND audit.id <= ?
"""  # noqa: S608 (no part is a client's text)
_DELETE_TOPICS = """
DELETE FROM audit_topic_entries WHERE (topic, action, entry) IN
(SELECT value, action, audit.id FROM audit, json_each(detail, '$.topics') WHERE audit.id < ?)
"""

_ENTRIES = "SELECT id, time_ms, action, principal, client_id, job, detail FROM audit WHERE id"
_NAMES_TOPIC = "EXISTS (SELECT 1 FROM json_each(detail, '$.topics') WHERE value = ?) AND "

CACHE_KIB = 8_192
"""Memory of the reader for pages of the database."""


class AuditSpan(NamedTuple):
    """The ids of the oldest and of the newest entry, and the time of the newest; all 0 without entries."""

    oldest: int = 0
    newest: int = 0
    newest_ms: int = 0


class _Search(NamedTuple):
    """A search of one index: the table, its column with the ids, conditions, and their values."""

    source: str
    key: str
    condition: str
    values: Sequence[object]


def insert_entries(database: sqlite3.Connection, entries: Sequence[AuditEntry]) -> None:
    """Add the entries. Their ids may be below those of stored entries."""
    if not entries:
        return
    first = min(entry.id for entry in entries)
    database.execute("UPDATE audit_indexed SET until = ? WHERE until >= ?", (first - 1, first))
    database.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", entries)


def index_topics(database: sqlite3.Connection) -> bool:
    """Add the topics of the next entries to the index, in a transaction; return whether there may be more."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        newest, number = database.execute(_NEXT, (INDEX_BATCH,)).fetchone()
        if number:
            database.execute(_INDEX_TOPICS, (newest,))
            database.execute("INSERT OR REPLACE INTO audit_indexed VALUES (0, ?)", (newest,))
    return bool(number == INDEX_BATCH)


def trim_entries(database: sqlite3.Connection, before: int) -> None:
    """Delete the entries with ids below `before`."""
    database.execute(_DELETE_TOPICS, (before,))
    database.execute("DELETE FROM audit WHERE id < ?", (before,))


class AuditReader:
    """Reads the log, on a connection of its own that does not block the writer.

    Used by one thread at a time.
    """

    def __init__(self, database: Path) -> None:
        self._database = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA query_only = ON")
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def span(self) -> AuditSpan:
        """Return the ids of the oldest and the newest entry."""
        row = self._one("SELECT (SELECT min(id) FROM audit), id, time_ms FROM audit ORDER BY id DESC LIMIT 1")
        return AuditSpan() if row is None else AuditSpan(*row)

    def first_at(self, time_ms: int) -> int:
        """Return the id of the first entry at or after the time.

        If there is none, an id above all entries.
        """
        low, high, _ = self.span()
        high += 1
        while low < high:
            middle = (low + high) // 2
            row = self._one("SELECT time_ms FROM audit WHERE id >= ? ORDER BY id LIMIT 1", middle)
            if row is not None and row[0] < time_ms:
                low = middle + 1
            else:
                high = middle
        return low

    def newest(self, chosen: AuditFilter, limit: int, before: int | None = None) -> list[AuditEntry]:
        """Return up to `limit` entries, the newest first; those with ids below `before` if it is given.

        Raises AuditLogError.
        """
        return self._selected(chosen, limit, "DESC", None, before)

    def oldest(self, chosen: AuditFilter, limit: int, after: int = 0) -> list[AuditEntry]:
        """Return up to `limit` entries with ids above `after`, the oldest first. Raises AuditLogError."""
        return self._selected(chosen, limit, "ASC", after, None)

    def _selected(
        self, chosen: AuditFilter, limit: int, order: str, after: int | None, before: int | None
    ) -> list[AuditEntry]:
        try:
            return list(self._select(chosen, limit, order, after, before))
        except sqlite3.Error as error:
            raise AuditLogError(f"the audit log cannot be read: {error}") from error

    def _select(
        self, chosen: AuditFilter, limit: int, order: str, after: int | None, before: int | None
    ) -> Iterator[AuditEntry]:
        low = max(0 if after is None else after + 1, self._bound(chosen.since_ms) or 0)
        high = min(each for each in (before, self._bound(chosen.until_ms), 2**62) if each is not None)
        parts, values = [], []
        for source, key, condition, given in _searches(chosen):
            select = f"SELECT {key} FROM {source} WHERE {condition}{key} >= ? AND {key} < ?"  # noqa: S608 (no part is a client's text)
            parts.append(f"SELECT * FROM ({select} ORDER BY {key} {order} LIMIT ?)")  # noqa: S608
            values += [*given, low, high, limit]
        if not parts:
            return
        ids = f"{' UNION ALL '.join(parts)} ORDER BY 1 {order} LIMIT ?"
        statement = f"{_ENTRIES} IN ({ids}) ORDER BY id {order}"
        with closing(self._database.execute(statement, [*values, limit])) as rows:
            for number, time_ms, action, *rest in rows:
                yield AuditEntry(number, time_ms, AuditAction(action), *rest)

    def _bound(self, time_ms: int | None) -> int | None:
        return None if time_ms is None else self.first_at(time_ms)

    def _one(self, statement: str, *values: object) -> tuple[int, ...] | None:
        row: tuple[int, ...] | None = self._database.execute(statement, values).fetchone()
        return row


def _searches(chosen: AuditFilter) -> Iterator[_Search]:
    """Yield one search of an index for each action: SQLite would sort all matches of several actions."""
    columns = {"principal": chosen.principal, "client_id": chosen.client_id}
    actions = [action.value for action in (AuditAction if chosen.actions is None else chosen.actions)]
    if not actions:
        return
    if chosen.job is not None:
        # The entries of a job are few.
        yield _filtered(
            "audit INDEXED BY audit_by_job", {"job": chosen.job, **columns}, chosen, "job > 0 AND "
        )
    elif chosen.topic is not None:
        for action in actions:
            named = {"topic": chosen.topic, "action": action, **columns}
            yield _search("audit_topic_entries", "entry", named)
        yield _filtered("audit NOT INDEXED", columns, chosen, f"id > {_INDEXED} AND ")
    elif chosen.actions is None and not any(columns.values()):
        yield _Search("audit", "id", "", [])
    else:
        yield from (_search("audit", "id", {"action": action, **columns}) for action in actions)


def _search(source: str, key: str, columns: Mapping[str, object]) -> _Search:
    given = {name: value for name, value in columns.items() if value is not None}
    return _Search(source, key, "".join(f"{name} = ? AND " for name in given), [*given.values()])


def _filtered(source: str, columns: Mapping[str, object], chosen: AuditFilter, first: str) -> _Search:
    """Return a search of entries by `first` and the columns that reads the actions and topics of each."""
    search = _search(source, "id", columns)
    condition, values = first + search.condition, [*search.values]
    if chosen.actions is not None:
        condition += f"action IN ({', '.join('?' * len(chosen.actions))}) AND "
        values += [action.value for action in chosen.actions]
    if chosen.topic is not None:
        condition += _NAMES_TOPIC
        values.append(chosen.topic)
    return _Search(source, "id", condition, values)
