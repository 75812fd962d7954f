"""The SQL of one table of records: upserts, deletes and loading, many rows in one statement."""

import functools
import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from controller.model.cluster import Record

Row = Sequence[Any]

_ROWS = 100
"""Rows in one statement. Each statement gives the interpreter up once, and a busy loop is slow to give it back."""


class Table:
    """SQL of one table, and the two conversions between its rows and records.

    `columns` are written, the first `keys` of them are the key; `order` is that of loading.
    """

    def __init__(
        self,
        name: str,
        columns: str,
        keys: int,
        order: str,
        to_row: Callable[[Any], Row],
        to_record: Callable[[Row], Record],
        key_to_row: Callable[[Any], Row] = lambda key: key,
    ) -> None:
        names = columns.split()
        listed, key, source = ", ".join(names), ", ".join(names[:keys]), f"FROM {name}"
        updates = ", ".join(f"{column} = excluded.{column}" for column in names[keys:])
        self._width = len(names)
        self._insert = " ".join(["INSERT INTO", name, f"({listed}) VALUES "])
        self._conflict = f" ON CONFLICT ({key}) DO UPDATE SET {updates}"
        self._delete = f"DELETE {source} WHERE "
        self._match = "(" + " AND ".join(f"{column} = ?" for column in names[:keys]) + ")"
        self._select = f"SELECT {listed} {source} ORDER BY {order}"
        self._to_row, self._to_record, self._key_to_row = to_row, to_record, key_to_row

    def upsert(self, database: sqlite3.Connection, records: Sequence[Any]) -> None:
        """Insert the records in order; one whose key is there keeps its place and takes the new values."""
        for count, values in _grouped(map(self._to_row, records), len(records)):
            database.execute(f"{self._insert}{_marks(self._width, count)}{self._conflict}", values)

    def delete(self, database: sqlite3.Connection, keys: Sequence[Any]) -> None:
        """Remove the rows of these keys."""
        for count, values in _grouped(map(self._key_to_row, keys), len(keys)):
            database.execute(self._delete + " OR ".join([self._match] * count), values)

    def load(self, database: sqlite3.Connection) -> Iterator[Record]:
        """All records of the table. Errors: ValueError or TypeError when a row makes no sense."""
        return map(self._to_record, database.execute(self._select))


def _grouped(rows: Iterable[Row], count: int) -> Iterator[tuple[int, list[Any]]]:
    """Rows as flat values of full groups, the rest one by one: few distinct statements are prepared once."""
    rows = iter(rows)
    for size in [_ROWS] * (count // _ROWS) + [1] * (count % _ROWS):
        yield size, list(itertools.chain.from_iterable(itertools.islice(rows, size)))


@functools.cache
def _marks(width: int, count: int) -> str:
    return ", ".join(["(" + ", ".join("?" * width) + ")"] * count)
