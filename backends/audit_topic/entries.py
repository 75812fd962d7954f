"""Audit entries as rows: in the state topic until they are copied to the audit topic."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from backends.client.channel import BrokerClient
from backends.state_topic.log import StateLog
from backends.state_topic.state_rows import AUDIT
from backends.state_topic.topic import CLEANUP, COMPRESSION, create_topic, find_topic
from common.json.models import decode_foreign
from controller.model.audit import AuditAction, AuditEntry
from controller.model.configs import UNCLEAN_ELECTION
from protocol.codec.errors import DecodeError
from protocol.record_batch import Batch, BatchRecord, Producer

_PREFIX = msgspec.json.encode([AUDIT])[:-1] + b","


Stored = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number that the database can store."""


class _Fields(msgspec.Struct, frozen=True):
    """The value of a row, in which an older or a newer version may have more fields."""

    id: Stored
    time_ms: Stored
    action: str
    principal: str
    client_id: str | None
    job: Stored
    detail: str


_FIELDS = msgspec.json.Decoder(_Fields)


def encode_entry(entry: AuditEntry) -> BatchRecord:
    """Return the row of the entry."""
    return BatchRecord(b"%s%d]" % (_PREFIX, entry.id), msgspec.json.encode(entry._asdict()))


def decode_entry(value: bytes) -> AuditEntry:
    """Return the entry of a row. Raises DecodeError."""
    try:
        fields = decode_foreign(value, _FIELDS)
        entry = AuditEntry(**msgspec.structs.asdict(fields))
        return entry._replace(action=AuditAction(fields.action))
    except (msgspec.DecodeError, ValueError) as error:
        raise DecodeError(f"an entry of the audit log cannot be read: {error}") from error


def entries_in_rows(rows: Mapping[bytes, bytes]) -> list[AuditEntry]:
    """Return the entries among the rows of the state topic, by id. Raises DecodeError."""
    entries = [decode_entry(value) for key, value in rows.items() if key.startswith(_PREFIX)]
    return sorted(entries)


def entries_in_batches(batches: Iterable[Batch]) -> tuple[list[AuditEntry], int]:
    """Return the entries in batches of the audit topic, and the number of records that are none."""
    entries, unreadable = [], 0
    for batch in batches:
        if batch.header.control:
            continue
        try:
            records = list(batch.records())
        except DecodeError:
            unreadable += 1
            continue
        for _, record in records:
            try:
                entries.append(decode_entry(record.value or b""))
            except DecodeError:
                unreadable += 1
    return entries, unreadable


NO_PRODUCER, NO_SEQUENCE = Producer(-1, -1), -1
"""Entries are written without a producer id: a repeated batch is skipped by the ids of its entries."""


def audit_topic(state_topic: str) -> str:
    """Return the name of the audit topic that belongs to a state topic."""
    return f"{state_topic}_audit"


async def open_audit_topic(
    client: BrokerClient, state_topic: str, replication: int, retention_ms: int
) -> None:
    """Create the topic if it does not exist. Raises StateTopicError and BrokerError."""
    name = audit_topic(state_topic)
    if await find_topic(client, name) is None:
        settings = {
            CLEANUP: "delete",
            COMPRESSION: "uncompressed",
            UNCLEAN_ELECTION: "false",
            "retention.ms": str(retention_ms),
        }
        await create_topic(client, name, replication, settings)


async def append_entries(log: StateLog, entries: Sequence[BatchRecord]) -> None:
    """Write a batch of entries. Raises OSError and FencedError."""
    await log.append(entries, NO_PRODUCER, NO_SEQUENCE)
