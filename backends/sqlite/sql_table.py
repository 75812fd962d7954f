"""The SQL statements for one table of records: upserts and deletes of many rows each, and loading."""

import functools
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from backends.record_forms import RecordForm, Row
from controller.model.cluster import Record

_ROWS = 1_000, 50, 1
"""Rows of a statement. Each statement releases the GIL once, and a busy event loop is slow to give it back. Few sizes need
few prepared statements."""
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
        """Insert the records in order. A record whose key exists replaces the values and keeps its position."""
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

    first: Row
    length: int

    @property
    def last(self) -> int:
        """The number of the last key."""
        number: int = self.first[-1]
        return number + self.length - 1


def _runs(keys: Iterable[Row]) -> Iterator[_Run]:
    """Yield the keys, which are sorted or nearly so, in runs."""
    first: Row = ()
    group: Row = ()
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
    rows: Iterable[Row], count: int, sizes: Sequence[int] = _ROWS
) -> Iterator[tuple[int, list[Any]]]:
    """Yield groups of rows as (number of rows, flat values); each group has the largest of the sizes that is left."""
    rows = iter(rows)
    for size in sizes:
        times, count = divmod(count, size)
        for _ in range(times):
            yield size, list(itertools.chain.from_iterable(itertools.islice(rows, size)))


@functools.cache
def _placeholders(width: int, count: int) -> str:
    return ", ".join(["(" + ", ".join("?" * width) + ")"] * count)
