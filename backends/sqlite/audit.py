"""The audit log in the database of the records: an entry is in the same transaction as the records of its decision.

Filters use an index each; a page is found by ids, so its position in the log does not matter. The topics that an entry
names have a table of their own. With further filters, the entries of a rare topic are searched for them; with a frequent
topic, the entries that they find are searched for the topic.
"""

import sqlite3
from collections.abc import Iterator, Sequence
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
CREATE TABLE IF NOT EXISTS audit_topics (topic TEXT, entry INTEGER, PRIMARY KEY (topic, entry)) WITHOUT ROWID;
"""
"""Added to databases of every format: versions without the audit log ignore the table."""

_SELECT = "SELECT id, time_ms, action, principal, client_id, job, detail FROM audit WHERE "
# The order of the tables is fixed: the index of the topics finds the entries of a page.
_SELECTS = {
    "id": _SELECT,
    "entry": _SELECT.replace("audit", "audit_topics CROSS JOIN audit ON id = entry"),
}
"""By the column that has the ids."""
_NAMES_TOPIC = "EXISTS (SELECT 1 FROM audit_topics WHERE topic = ? AND entry = id) AND "
_COUNT_TOPIC = "SELECT count(*) FROM (SELECT 1 FROM audit_topics WHERE topic = ? LIMIT ?)"
RARE = 20_000
"""Entries of a rare topic, at most. They are read in a few tens of milliseconds."""

_INSERT_TOPICS = """
INSERT INTO audit_topics SELECT value, audit.id FROM audit, json_each(detail, '$.topics')
WHERE audit.id BETWEEN ? AND ?
"""
_DELETE_TOPICS = """
DELETE FROM audit_topics WHERE (topic, entry) IN
(SELECT value, audit.id FROM audit, json_each(detail, '$.topics') WHERE audit.id < ?)
"""

CACHE_KIB = 8_192
"""Memory of the reader for pages of the database."""


class AuditSpan(NamedTuple):
    """The ids of the oldest and of the newest entry, and the time of the newest; all 0 without entries."""

    oldest: int = 0
    newest: int = 0
    newest_ms: int = 0


def insert_entries(database: sqlite3.Connection, entries: Sequence[AuditEntry]) -> None:
    """Add the entries."""
    if not entries:
        return
    database.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", entries)
    database.execute(_INSERT_TOPICS, (entries[0].id, entries[-1].id))


def trim_entries(database: sqlite3.Connection, before: int) -> None:
    """Delete the entries with ids below `before`."""
    database.execute(_DELETE_TOPICS, (before,))
    database.execute("DELETE FROM audit WHERE id < ?", (before,))


class AuditReader:
    """Reads the log, on a connection of its own that does not block the writer. Used by one thread at a time."""

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
        """Return the id of the first entry at or after the time; if there is none, an id above all entries."""
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
        for key, condition, given in self._searches(chosen):
            # One index search for each action: SQLite would sort all matches of several actions.
            select = _SELECTS[key] + condition
            parts.append(f"({select}{key} >= ? AND {key} < ? ORDER BY {key} {order} LIMIT ?)")
            values += [*given, low, high, limit]
        if not parts:
            return
        union = " UNION ALL SELECT * FROM ".join(parts)
        statement = f"SELECT * FROM {union} ORDER BY id {order} LIMIT ?"  # noqa: S608 (no part is a client's text)
        with closing(self._database.execute(statement, [*values, limit])) as rows:
            for number, time_ms, action, *rest in rows:
                yield AuditEntry(number, time_ms, AuditAction(action), *rest)

    def _searches(self, chosen: AuditFilter) -> Iterator[tuple[str, str, list[object]]]:
        """Yield a key of `_SELECTS`, conditions for its statement, and their values."""
        if chosen.topic is None:
            yield from (("id", *search) for search in _conditions(chosen))
        elif self._is_frequent(chosen.topic) and any(each is not None for each in chosen[:4]):
            for condition, values in _conditions(chosen):
                yield "id", condition + _NAMES_TOPIC, [*values, chosen.topic]
        else:
            actions = AuditAction if chosen.actions is None else chosen.actions
            columns, values = _columns(chosen)
            condition = f"topic = ? AND {columns}action IN ({', '.join('?' * len(actions))}) AND "
            yield "entry", condition, [chosen.topic, *values, *(action.value for action in actions)]

    def _is_frequent(self, topic: str) -> bool:
        return self._one(_COUNT_TOPIC, topic, RARE) == (RARE,)

    def _bound(self, time_ms: int | None) -> int | None:
        return None if time_ms is None else self.first_at(time_ms)

    def _one(self, statement: str, *values: object) -> tuple[int, ...] | None:
        row: tuple[int, ...] | None = self._database.execute(statement, values).fetchone()
        return row


def _conditions(chosen: AuditFilter) -> Iterator[tuple[str, list[object]]]:
    """Yield the conditions on the columns, and their values: one for all actions, or one for each action."""
    columns, values = _columns(chosen)
    if chosen.actions is None and (chosen.job is not None or not columns):
        yield columns, values
        return
    for action in AuditAction if chosen.actions is None else chosen.actions:
        yield f"{columns}action = ? AND ", [*values, action.value]


def _columns(chosen: AuditFilter) -> tuple[str, list[object]]:
    """Return the conditions without those on topics and actions, and their values."""
    named = {"principal": chosen.principal, "client_id": chosen.client_id}
    given = {name: value for name, value in named.items() if value is not None}
    columns = "".join(f"{name} = ? AND " for name in given)
    if chosen.job is None:
        return columns, [*given.values()]
    return columns + "job > 0 AND job = ? AND ", [*given.values(), chosen.job]
