"""Entries as rows, and rows that are no entries."""

import pytest

from backends.audit_topic.entries import decode_entry, encode_entry, entries_in_batches, entries_in_rows
from backends.state_topic.rows import RowWriter
from controller.model.audit import AuditAction
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord
from tests.backends.audit_topic.builders import NO_PRODUCER, an_entry
from tests.backends.state_topic.builders import Log, row


def test_an_entry_is_read_as_it_was_written() -> None:
    read = decode_entry(encode_entry(an_entry(7)).value or b"")
    assert read == an_entry(7)
    assert type(read.action) is AuditAction


def test_entries_have_the_same_row_in_both_topics() -> None:
    assert [*RowWriter(()).encode(an_entry(7))] == [encode_entry(an_entry(7))]


def test_entries_are_found_among_the_rows_of_the_state_topic() -> None:
    rows = dict(encode_entry(an_entry(number)) for number in (12, 3))
    found = entries_in_rows({b'["paused"]': b"{}", **rows})  # type: ignore[dict-item]
    assert found == [an_entry(3), an_entry(12)]


NESTED = b'{"z":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
TOO_LARGE = (encode_entry(an_entry(2**63)).value, encode_entry(an_entry(1)._replace(job=2**70)).value)


@pytest.mark.parametrize("value", [b"", b"{}", b"garbage", b'{"id": "a"}', NESTED, *TOO_LARGE])
def test_a_value_that_is_no_entry_is_refused(value: bytes) -> None:
    with pytest.raises(DecodeError, match="an entry of the audit log cannot be read"):
        decode_entry(value)


def test_an_action_of_a_newer_version_is_refused() -> None:
    value = (encode_entry(an_entry(1)).value or b"").replace(b"pause", b"dance")
    with pytest.raises(DecodeError, match="dance"):
        decode_entry(value)


def test_records_that_are_no_entries_are_counted() -> None:
    log = Log().add(encode_entry(an_entry(1)), row("a"), producer=NO_PRODUCER)
    log.add(row("b"), attributes=1).marker(commit=True).add(BatchRecord(None, None))
    assert entries_in_batches(log.batches) == ([an_entry(1)], 3)
