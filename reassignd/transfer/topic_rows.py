"""Rows of a state topic outside of it: made from the records of a data directory, and as JSON lines."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from backends.state_topic.history import DecodedRows, History
from backends.state_topic.state_rows import (
    META_KEY,
    Meta,
    RowWriter,
    decode_records,
    encode_ports,
    read_meta,
    read_ports,
)
from backends.state_topic.topic import StateTopicError
from common.garbage_collector import gc_paused
from common.json.models import decode_foreign
from common.tasks import in_slices
from controller.model.audit import AuditEntry
from controller.model.cluster import Record
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord
from reassignd.config.errors import CommandError

Rows = Mapping[bytes, bytes]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: msgspec.Raw
    value: msgspec.Raw


_LINE = msgspec.json.Decoder(_Line)


class Contents(NamedTuple):
    """What a data directory or a state topic has."""

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


async def decode(history: History, topic: str, upstream_cluster_id: str) -> Contents | None:
    """Return what the rows of a topic say; None if no instance was active yet.

    Raises CommandError if a row cannot be read, or belongs to another cluster. Other tasks run after each
    slice of the rows: a million take longer than the lease of the term in which they are decoded.
    """
    try:
        meta = read_meta(history.rows, topic, upstream_cluster_id, moved=True)
        ports = read_ports(history.rows)
        with gc_paused:
            _, ordered = await DecodedRows(history).take()
            records = [record async for record in in_slices(ordered)]
    except (StateTopicError, DecodeError) as error:
        raise CommandError(str(error)) from error
    return None if meta is None else Contents(records, meta, ports)


async def same(one: Contents, other: Contents) -> bool:
    """Return whether both have the same records, in the same order, and ports."""
    if len(one.records) != len(other.records) or one.ports != other.ports:
        return False
    async for left, right in in_slices(zip(one.records, other.records, strict=True)):
        # Named tuples of different types can be equal.
        if type(left) is not type(right) or left != right:
            return False
    return True


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
    try:
        read_meta(rows, "of the file", upstream_cluster_id)
        read_ports(rows)
        for _ in decode_records(rows.items()):
            pass
    except (StateTopicError, DecodeError) as error:
        raise CommandError(str(error)) from error
    return rows
