"""The rows of the state topic: JSON of the forms of records, readable with any consumer.

The key is the form's name and the values of its key columns, the value an object with the other columns. Records that
are loaded in the order of their first writing have a `sequence` as well, since a compacted topic does not keep it.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from backends.record_forms import FORMS, RecordForm
from backends.state_topic.meta import META, PORTS
from common.json.foreign import decode_foreign
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Deleted, Record
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord

Result = TypeVar("Result")

SEQUENCE = "sequence"

AUDIT = "audit"
"""Name of the rows of the audit log, which are no records."""

AUDIT_IDS = 2**63
"""Ids of audit entries are positive and below this."""

NO_RECORDS = frozenset({AUDIT, META, PORTS})
"""Names of the rows that are no records of the controller."""

_KEYS, _VALUES = msgspec.json.Decoder(list[Any]), msgspec.json.Decoder(dict[str, Any])
_BY_NAME = {form.name: form for form in FORMS.values()}
_ORDER = {form.name: index for index, form in enumerate(FORMS.values())}


class LoadedRecord(NamedTuple):
    """A record and what orders it: its kind, then its position."""

    kind: int
    position: tuple[Any, ...]
    """Its sequence if it is `ordered`, or its key."""
    ordered: bool
    record: Record


DecodedRow = LoadedRecord | int | None
"""A record, the id of an entry of the audit log, or None for a row of the topic itself."""

load_order = attrgetter("kind", "position")
"""Key by which records are sorted."""


class RowWriter:
    """Encodes changes. It knows the sequences of the rows that exist, and gives new rows the next one."""

    def __init__(self, rows: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Learn the existing rows. Raises DecodeError."""
        self._sequences: dict[bytes, int] = {}
        self._oldest_entry = 0
        self._next = 1
        for key, value in rows:
            self.learn(key, decode_row(key, value))

    def learn(self, key: bytes, row: DecodedRow) -> None:
        """Note the sequence, or the id of the audit entry, of an existing row."""
        if isinstance(row, int):
            self._oldest_entry = min(self._oldest_entry or row, row)
        elif row is not None and row.ordered:
            (sequence,) = row.position
            self._sequences[key] = sequence
            self._next = max(self._next, 1 + sequence)

    def forget(self, key: bytes) -> None:
        """Forget a row that was deleted."""
        self._sequences.pop(key, None)

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
    decoded = (decode_row(key, value) for key, value in rows)
    loaded = [row for row in decoded if isinstance(row, LoadedRecord)]
    return (row.record for row in sorted(loaded, key=load_order))


def decode_row(key: bytes, value: bytes) -> DecodedRow:
    """Decode one row. Raises DecodeError."""
    name, *columns = _decoded(key, _KEYS) or (None,)
    if name == AUDIT:
        return _entry_id(columns)
    form = _BY_NAME.get(name) if isinstance(name, str) else None
    if form is None:
        if isinstance(name, str) and name in NO_RECORDS:
            return None
        raise DecodeError(f"the state topic has a row of the unknown kind {name!r}")
    fields = _decoded(value, _VALUES)
    try:
        record = form.to_record([*columns, *[fields[column] for column in form.columns[form.keys :]]])
        position = (_sequence(fields),) if form.ordered else tuple(columns)
    except (LookupError, ValueError, TypeError) as error:
        raise DecodeError(f"the row {key.decode(errors='replace')} of the state topic: {error!r}") from error
    return LoadedRecord(_ORDER[form.name], position, form.ordered, record)


def _entry_id(columns: Sequence[Any]) -> int:
    match columns:
        case [int(number)] if 0 < number < AUDIT_IDS:
            return number
    raise DecodeError(f"the state topic has a row of the audit log with the id {columns!r:.80}")


def _sequence(fields: dict[str, Any]) -> int:
    sequence = fields[SEQUENCE]
    if not isinstance(sequence, int):
        raise TypeError(f"{SEQUENCE} is no number")
    return sequence


def _decoded(text: bytes, decoder: msgspec.json.Decoder[Result]) -> Result:
    try:
        return decode_foreign(text, decoder)
    except msgspec.DecodeError as error:
        raise DecodeError(f"a row of the state topic is not JSON: {text[:80]!r}") from error


def _key(form: RecordForm, values: Sequence[object]) -> bytes:
    return msgspec.json.encode([form.name, *values])


def _audit_key(number: int) -> bytes:
    return msgspec.json.encode([AUDIT, number])
