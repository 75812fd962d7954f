"""Rows of the state topic: readable JSON that keeps records and their order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.record_forms import FORMS
from backends.state_topic.state_rows import (
    FORMAT,
    META_KEY,
    PORTS_KEY,
    Meta,
    RowWriter,
    decode_records,
    encode_ports,
    read_meta,
    read_ports,
)
from backends.state_topic.topic import StateTopicError
from controller.model.audit import AuditAction, AuditEntry, AuditTrim
from controller.model.cluster import (
    Change,
    Deleted,
    Job,
    JobKind,
    Pending,
    Reassignment,
    Record,
    TopicPartition,
)
from protocol.codec.errors import DecodeError
from tests.backends.records import EVERY_KIND

FORMS_OF_FORMAT_1 = {
    "controller": "id, epoch",
    "brokers": "id, host, port, rack, epoch",
    "topics": "name, id, deleting",
    "partitions": "topic, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing",
    "reassignments": "topic, partition, original, target, job, blocked",
    "configs": "resource, name, config, value",
    "jobs": "id, kind, created_ms, principal, client_id, total, priority, paused, ended_ms, undoes, throttle",
    "finished": "job, topic, partition, original, target, ending, taken_by",
    "pending": "topic, partition, target, job",
    "paused": "id, paused",
    "submissions": "topic, partition, base, following, stage, turned_from, epoch",
    "leases": "resource, name, config, ours, found",
    "acls": "kind, name, pattern, principal, host, operation, permission",
    "scram_credentials": "user, mechanism, salt, stored_key, server_key, iterations",
}
LATER_KINDS = {
    "user_tasks": "id, started_ms, endpoint, url, client, principal, executes, failed, result",
    "dry_runs": "asked, principal, proposal, ended_ms, plan, task",
    "held_requests": "id, held_ms, endpoint, query, body, client, principal, state, reason, decided_by",
    "load_hours": "number, written_ms, topics, hours",
    "disk_moves": "job, topic, partition, broker, source, target, size, stage, reason",
}
"""Earlier versions refuse them. They are written only where Cruise Control's API, or a move between the
directories of a broker, was used."""
LATER_COLUMNS = {"jobs": "elects, until_ms, limits"}
"""Earlier versions ignore them, as all unknown fields. Rows without them have the defaults."""


def after(*changes: Change, rows: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
    """Apply the rows of the changes as a compacted topic would."""
    rows = {} if rows is None else rows
    writer = RowWriter(rows.items())
    for change in changes:
        for key, value in writer.encode(change):
            assert key is not None
            rows.pop(key, None)
            if value is not None:
                rows[key] = value
    return rows


def entry(number: int) -> AuditEntry:
    return AuditEntry(number, 5, AuditAction.PAUSE, "User:anna", None, 0, "{}")


def test_every_kind_of_record_is_kept() -> None:
    assert set(decode_records(after(*EVERY_KIND).items())) == set(EVERY_KIND)


def test_unknown_fields_of_a_row_are_ignored() -> None:
    record = Pending("foo", 1, (1, 2), 7)
    ((key, value),) = after(record).items()
    assert list(decode_records([(key, value.replace(b"{", b'{"of_tomorrow":1,'))])) == [record]


def test_the_forms_of_rows_are_those_of_their_format() -> None:
    """Earlier versions cannot read other kinds or columns, so these need a new format (`meta.FORMAT`)."""
    later = {form.name: ", ".join(form.defaults) for form in FORMS.values() if form.defaults}
    forms = {
        form.name: ", ".join(column for column in form.columns if column not in form.defaults)
        for form in FORMS.values()
    }
    assert (FORMAT, forms, later) == (1, FORMS_OF_FORMAT_1 | LATER_KINDS, LATER_COLUMNS)


def test_a_job_of_an_earlier_version_has_the_defaults() -> None:
    [(key, value)] = after(Job(3, JobKind.PLAN, 5, "User:anna", None, 7)).items()
    earlier = {name: each for name, each in json.loads(value).items() if name not in {"elects", "until_ms"}}
    [job] = decode_records([(key, json.dumps(earlier).encode())])
    assert job == Job(3, JobKind.PLAN, 5, "User:anna", None, 7)


def test_rows_are_readable() -> None:
    (item,) = after(Reassignment("foo", 3, (1, 2), (3,), 7)).items()
    value = b'{"original":"1,2","target":"3","job":7,"blocked":"","sequence":1}'
    assert item == (b'["reassignments","foo",3]', value)


def test_a_replaced_record_keeps_its_position_also_after_a_restart() -> None:
    rows = after(Pending("b", 0, (1,), 1), Pending("a", 0, (1,), 1))
    rows = after(Pending("b", 0, (2,), 1), Pending("c", 0, (1,), 1), rows=rows)
    assert [record.key for record in decode_records(rows.items())] == [("b", 0), ("a", 0), ("c", 0)]


def test_a_deleted_record_that_returns_is_the_last() -> None:
    first, second = Pending("a", 0, (1,), 1), Pending("b", 0, (1,), 1)
    rows = after(first, second, Deleted(Pending, TopicPartition("a", 0)), first)
    assert list(decode_records(rows.items())) == [second, first]


@given(st.permutations(EVERY_KIND))
def test_kinds_are_loaded_in_the_order_of_a_store(records: list[Record]) -> None:
    loaded = [type(record) for record in decode_records(after(*records).items())]
    assert loaded.index(type(EVERY_KIND[2])) < loaded.index(type(EVERY_KIND[3]))


def test_audit_entries_are_rows_but_no_records() -> None:
    rows = after(entry(4), entry(5))
    assert list(rows) == [b'["audit",4]', b'["audit",5]']
    assert list(decode_records(rows.items())) == []


def test_a_trim_deletes_old_entries_also_after_a_restart() -> None:
    rows = after(entry(4), entry(5), entry(6))
    assert list(after(AuditTrim(6), rows=rows)) == [b'["audit",6]']
    assert list(after(AuditTrim(6), AuditTrim(7), rows=rows)) == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (b"x", b"{}", "not JSON"),
        (b'["pending","a",0]', b"[", "not JSON"),
        (b'["office",1]', b"{}", "unknown kind 'office'"),
        (b"[[]]", b"{}", "unknown kind"),
        (b"[]", b"{}", "unknown kind None"),
        (b"[" * 5_000 + b"]" * 5_000, b"{}", "not JSON"),
        (b'["audit"]', b"{}", r"a row of the audit log with the id \[\]"),
        (b'["audit",-1]', b"{}", "the id"),
        (b'["audit",9223372036854775808]', b"{}", "the id"),
        (b'["pending","a",0]', b'{"target":"1"}', "'job'"),
        (b'["pending","a",0]', b'{"target":"x","job":1,"sequence":1}', "'x'"),
        (b'["pending","a",0]', b'{"target":"1","job":1}', "'sequence'"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(key: bytes, value: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        list(decode_records([(key, value)]))


def test_rows_that_are_no_records_are_left_out() -> None:
    assert list(decode_records([(b'["meta"]', b"{}"), (b'["ports"]', b"{}")])) == []


META = Meta(cluster_id="own", upstream_cluster_id="kafka")


def test_the_meta_row_is_read_again() -> None:
    assert read_meta({}, "t", "kafka") is None
    assert read_meta({META_KEY: META.encode().value or b""}, "t", "kafka") == META


def test_records_of_another_cluster_are_refused() -> None:
    with pytest.raises(StateTopicError, match="has the records of cluster kafka, not of other"):
        read_meta({META_KEY: META.encode().value or b""}, "t", "other")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(StateTopicError, match="has format 2, and this version knows formats up to 1"):
        read_meta({META_KEY: b'{"format": 2, "new": []}'}, "t", "kafka")


@pytest.mark.parametrize("value", [b"", b"[]", b'{"cluster_id": 1}'])
def test_a_damaged_meta_row_is_named(value: bytes) -> None:
    with pytest.raises(DecodeError, match="the row meta of the state topic"):
        read_meta({META_KEY: value}, "t", "kafka")


def test_positions_of_ports_are_read_again() -> None:
    assert read_ports({}) == {}
    assert read_ports({PORTS_KEY: encode_ports({7: 1, 3: 2}).value or b""}) == {7: 1, 3: 2}


@pytest.mark.parametrize("positions", [{1: 1, 2: 1}, {1: 0}])
def test_invalid_positions_are_refused(positions: dict[int, int]) -> None:
    with pytest.raises(DecodeError, match="twice, or an invalid one"):
        read_ports({PORTS_KEY: encode_ports(positions).value or b""})


def test_a_damaged_row_of_ports_is_named() -> None:
    with pytest.raises(DecodeError, match="the row ports of the state topic"):
        read_ports({PORTS_KEY: b"{"})
