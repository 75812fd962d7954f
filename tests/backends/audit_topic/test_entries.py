"""Entries as rows, and rows that are no entries."""

import pytest

from backends.audit_topic.entries import (
    append_entries,
    audit_topic,
    decode_entry,
    encode_entry,
    entries_in_batches,
    entries_in_rows,
    open_audit_topic,
)
from backends.state_topic.state_rows import RowWriter
from controller.model.audit import AuditAction
from protocol.codec.errors import DecodeError
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.record_batch import BatchRecord
from tests.backends.audit_topic.builders import NO_PRODUCER, an_entry
from tests.backends.state_topic.builders import Log, row
from tests.backends.state_topic.test_kafka_log import Cluster as Brokers
from tests.backends.state_topic.test_topic import Cluster


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


def test_the_name_follows_from_that_of_the_state_topic() -> None:
    assert audit_topic("__reassignd_state") == "__reassignd_state_audit"


async def test_a_new_topic_deletes_entries_by_age() -> None:
    cluster = Cluster(exists=False)
    await open_audit_topic(cluster, "state", 3, 1000)
    (request,) = cluster.requests(CreateTopicsRequest)
    (topic,) = request.topics
    configs = {config.name: config.value for config in topic.configs}
    assert (topic.name, topic.replication_factor) == ("state_audit", 3)
    assert (configs["cleanup.policy"], configs["retention.ms"]) == ("delete", "1000")
    assert configs["min.insync.replicas"] == "2"


async def test_an_existing_topic_is_used() -> None:
    cluster = Cluster()
    await open_audit_topic(cluster, "state", 3, 1000)
    assert not cluster.requests(CreateTopicsRequest)


async def test_entries_have_no_producer() -> None:
    brokers = Brokers()
    await append_entries(brokers.log(), [])
    assert brokers.asked
