"""Rows of a state topic outside of it: made from the records of a data directory, and as JSON lines."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from backends.state_topic.meta import META_KEY, Meta, encode_ports, read_meta, read_ports
from backends.state_topic.rows import RowWriter, decode_records
from backends.state_topic.topic import StateTopicError
from common.json.foreign import decode_foreign
from controller.model.audit import AuditEntry
from controller.model.cluster import Record
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord
from reassignd.errors import CommandError

Rows = Mapping[bytes, bytes]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: msgspec.Raw
    value: msgspec.Raw


_LINE = msgspec.json.Decoder(_Line)


class Contents(NamedTuple):
    """What a data directory has."""

    records: list[Record]
    meta: Meta
    ports: Mapping[int, int]
    newest_entry: AuditEntry | None = None
    """The newest entry of the audit log, after whose id the ids of new entries continue."""

    def rows(self) -> dict[bytes, bytes]:
        """Return the rows of a state topic with the same contents."""
        writer = RowWriter(())
        changes = [*self.records, *([self.newest_entry] if self.newest_entry else [])]
        encoded = [row for change in changes for row in writer.encode(change)]
        encoded.append(self.meta.encode())
        if self.ports:
            encoded.append(encode_ports(self.ports))
        return {key: value for key, value in encoded if key is not None and value is not None}


def same(one: Rows, other: Rows) -> bool:
    """Return whether both have the same records and ports. Numbers of the order of records may differ."""
    return _comparable(one) == _comparable(other)


def _comparable(rows: Rows) -> tuple[list[tuple[type, Record]], Mapping[int, int]]:
    # Named tuples of different types can be equal.
    return [(type(record), record) for record in decode_records(rows.items())], read_ports(rows)


def changes_between(old: Rows, new: Rows) -> list[BatchRecord]:
    """Return the rows to write so that a topic with `old` has `new`."""
    changes = [BatchRecord(key, value) for key, value in new.items() if old.get(key) != value]
    return changes + [BatchRecord(key, None) for key in old.keys() - new.keys()]


def to_lines(rows: Rows) -> Iterator[bytes]:
    """Yield a JSON line for each row, sorted by key, and the line of the meta row first."""
    for key in sorted(rows, key=lambda key: (key != META_KEY, key)):
        yield b'{"key":%s,"value":%s}\n' % (key, rows[key])


def from_lines(lines: Iterable[bytes], upstream_cluster_id: str) -> dict[bytes, bytes]:
    """Return the rows, all of which can be read. Raises CommandError, which names the line or the row."""
    rows: dict[bytes, bytes] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = decode_foreign(line, _LINE)
            except msgspec.DecodeError as error:
                raise CommandError(f"line {number} is no row of `reassignd state export`: {error}") from error
            rows[bytes(row.key)] = bytes(row.value)
    if META_KEY not in rows:
        raise CommandError(
            'the file has no row ["meta"]: it is incomplete, or not of `reassignd state export`'
        )
    check(rows, "of the file", upstream_cluster_id)
    return rows


def check(rows: Rows, topic: str, upstream_cluster_id: str, *, moved: bool = False) -> Meta | None:
    """Return the meta row. Raises CommandError if a row cannot be read, or belongs to another cluster."""
    try:
        meta = read_meta(rows, topic, upstream_cluster_id, moved=moved)
        read_ports(rows)
        for _ in decode_records(rows.items()):
            pass
    except (StateTopicError, DecodeError) as error:
        raise CommandError(str(error)) from error
    return meta
