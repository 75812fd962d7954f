"""The rows of the state topic: JSON of the forms of records, readable with any consumer.

Two rows are no records of the controller: what the topic belongs to, and the gateway's ports.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from backends.record_forms import FORMS, RecordForm
from backends.state_topic.topic import StateTopicError
from common.json.models import decode_foreign
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Deleted, Record
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord

META, PORTS = "meta", "ports"
META_KEY, PORTS_KEY = (msgspec.json.encode([name]) for name in (META, PORTS))

FORMAT = 1
"""Of the rows. A newer one is refused."""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What the topic belongs to; the first active instance writes it."""

    format: int = FORMAT
    cluster_id: str = ""
    """The own id of the gateways before the cluster, which clients of the API get."""
    upstream_cluster_id: str = ""
    moved_to: str = ""
    """The data directory to which the records were moved. No instance becomes active any more."""

    def encode(self) -> BatchRecord:
        """Return the row."""
        return BatchRecord(META_KEY, msgspec.json.encode(self))


class _Ports(msgspec.Struct, frozen=True):
    positions: dict[int, int]


_ANY, _META = msgspec.json.Decoder(dict[str, object]), msgspec.json.Decoder(Meta)
_PORTS = msgspec.json.Decoder(_Ports)


def read_meta(
    rows: Mapping[bytes, bytes], topic: str, upstream_cluster_id: str, *, moved: bool = False
) -> Meta | None:
    """Return the meta row, or None if no instance was active yet.

    Raises StateTopicError for the rows of another cluster, of a newer format, or, unless `moved` is set, for
    rows that were moved to a data directory; and DecodeError.
    """
    value = rows.get(META_KEY)
    if value is None:
        return None
    try:
        # The format first: a newer one may have other fields.
        number = decode_foreign(value, _ANY).get("format")
        if isinstance(number, int) and number > FORMAT:
            raise StateTopicError(
                f"the state topic {topic} has format {number}, and this version knows formats up to"
                f" {FORMAT}: start the newer version"
            )
        meta = decode_foreign(value, _META)
    except msgspec.DecodeError as error:
        raise DecodeError(f"the row {META} of the state topic: {error}") from error
    if meta.upstream_cluster_id != upstream_cluster_id:
        raise StateTopicError(
            f"the state topic {topic} has the records of cluster {meta.upstream_cluster_id}, not of "
            f"{upstream_cluster_id}: set state.topic to another name"
        )
    if meta.moved_to and not moved:
        raise StateTopicError(
            f"the records of the state topic {topic} were moved to the data directory {meta.moved_to}: start"
            " with state=directory there, or move them back with `reassignd state import`"
        )
    return meta


def read_ports(rows: Mapping[bytes, bytes]) -> Mapping[int, int]:
    """Return the positions of the brokers' ports, by broker. Raises DecodeError."""
    value = rows.get(PORTS_KEY)
    if value is None:
        return {}
    try:
        positions = decode_foreign(value, _PORTS).positions
    except msgspec.DecodeError as error:
        raise DecodeError(f"the row {PORTS} of the state topic: {error}") from error
    if len(set(positions.values())) < len(positions) or min(positions.values(), default=1) < 1:
        raise DecodeError(f"the row {PORTS} of the state topic assigns a port twice, or an invalid one")
    return positions


def encode_ports(positions: Mapping[int, int]) -> BatchRecord:
    """Return the row."""
    return BatchRecord(PORTS_KEY, msgspec.json.encode(_Ports(dict(positions))))


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
    values: dict[str, Any] = _decoded(value, _VALUES)
    fields = {**form.defaults, **values}
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
