"""The rows of the state topic: JSON of the forms of records, readable with any consumer.

The key is the form's name and the values of its key columns, the value an object with the other columns. Records that
are loaded in the order of their first writing have a `sequence` as well, since a compacted topic does not keep it.
"""

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from backends.record_forms import FORMS, RecordForm
from backends.state_topic.meta import META, PORTS
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Deleted, Record
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord

Result = TypeVar("Result")

SEQUENCE = "sequence"

ROWS_PER_SLICE = 2_000
"""Rows decoded before other tasks run."""

AUDIT = "audit"
"""Name of the rows of the audit log, which are no records."""

NO_RECORDS = frozenset({AUDIT, META, PORTS})
"""Names of the rows that are no records of the controller."""

_BY_NAME = {form.name: form for form in FORMS.values()}
_ORDER = {form.name: index for index, form in enumerate(FORMS.values())}


class _Loaded(NamedTuple):
    """A record and what orders it: its kind, then its sequence or its key."""

    order: tuple[int, tuple[Any, ...]]
    record: Record


class RowWriter:
    """Encodes changes. It knows the sequences of the rows that exist, and gives new rows the next one."""

    def __init__(self, rows: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Learn the existing rows. Raises DecodeError."""
        self._sequences: dict[bytes, int] = {}
        self._oldest_entry = self._newest_entry = 0
        self._next = 1
        self.learn(rows)

    def learn(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Read the sequences and the ids of the audit entries of existing rows. Raises DecodeError."""
        for key, value in rows:
            name, *columns = _decoded(key, list)
            if name == AUDIT:
                self._oldest_entry = min(self._oldest_entry or columns[0], columns[0])
            elif not _is_no_record(name) and _form(name).ordered:
                self._sequences[key] = _sequence(key, _decoded(value, dict))
                self._next = max(self._next, 1 + self._sequences[key])

    def encode(self, change: Change) -> Sequence[BatchRecord]:
        """Return the rows of one change: one, or the tombstones of a trim."""
        if isinstance(change, AuditEntry):
            self._oldest_entry = self._oldest_entry or change.id
            return (BatchRecord(_audit_key(change.id), msgspec.json.encode(change._asdict())),)
        if isinstance(change, AuditTrim):
            first, self._oldest_entry = self._oldest_entry, max(self._oldest_entry, change.before)
            return [BatchRecord(_audit_key(number), None) for number in range(first, change.before)]
        if isinstance(change, Deleted):
            form = FORMS[change.kind]
            key = _key(form, form.key_to_row(change.key))
            self._sequences.pop(key, None)
            return (BatchRecord(key, None),)
        return (self._put(change),)

    def _put(self, record: Record) -> BatchRecord:
        form = FORMS[type(record)]
        row = form.to_row(record)
        key = _key(form, row[: form.keys])
        value = dict(zip(form.columns[form.keys :], row[form.keys :], strict=True))
        if form.ordered:
            if (sequence := self._sequences.get(key)) is None:
                sequence = self._sequences[key] = self._next
                self._next += 1
            value[SEQUENCE] = sequence
        return BatchRecord(key, msgspec.json.encode(value))


def decode_records(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[Record]:
    """Yield the records of the rows in the order of `Store.load`. Raises DecodeError."""
    loaded = [found for key, value in rows if (found := _decode(key, value)) is not None]
    loaded.sort(key=lambda found: found.order)
    return (found.record for found in loaded)


async def read_rows(rows: Sequence[tuple[bytes, bytes]]) -> tuple[RowWriter, Iterator[Record]]:
    """Return a writer that knows the rows, and their records in the order of `Store.load`.

    Other tasks run after each slice of the rows. Raises DecodeError.
    """
    writer, sorted_slices = RowWriter(), []
    for start in range(0, len(rows), ROWS_PER_SLICE):
        some = rows[start : start + ROWS_PER_SLICE]
        writer.learn(some)
        loaded = [found for key, value in some if (found := _decode(key, value)) is not None]
        sorted_slices.append(sorted(loaded, key=_by_order))
        await asyncio.sleep(0)
    return writer, (found.record for found in heapq.merge(*sorted_slices, key=_by_order))


def _by_order(found: _Loaded) -> tuple[int, tuple[Any, ...]]:
    return found.order


def _sequence(key: bytes, fields: dict[str, Any]) -> int:
    sequence = fields.get(SEQUENCE)
    if not isinstance(sequence, int):
        raise DecodeError(f"the row {key.decode(errors='replace')} of the state topic has no {SEQUENCE}")
    return sequence


def _decode(key: bytes, value: bytes) -> _Loaded | None:
    name, *columns = _decoded(key, list)
    if _is_no_record(name):
        return None
    form, fields = _form(name), _decoded(value, dict)
    try:
        record = form.to_record([*columns, *(fields[column] for column in form.columns[form.keys :])])
        position = (fields[SEQUENCE],) if form.ordered else tuple(columns)
    except (LookupError, ValueError, TypeError) as error:
        raise DecodeError(f"the row {key.decode(errors='replace')} of the state topic: {error!r}") from error
    return _Loaded((_ORDER[name], position), record)


def _is_no_record(name: object) -> bool:
    return isinstance(name, str) and name in NO_RECORDS


def _form(name: object) -> RecordForm:
    form = _BY_NAME.get(name) if isinstance(name, str) else None
    if form is None:
        raise DecodeError(f"the state topic has a row of the unknown kind {name!r}")
    return form


def _decoded(text: bytes, kind: type[Result]) -> Result:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise DecodeError(f"a row of the state topic is not JSON: {text[:80]!r}") from error


def _key(form: RecordForm, values: Sequence[object]) -> bytes:
    return msgspec.json.encode([form.name, *values])


def _audit_key(number: int) -> bytes:
    return msgspec.json.encode([AUDIT, number])
