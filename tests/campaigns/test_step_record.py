"""When a step comes after the claim of another instance, and when its sender can have no lease."""

import pytest

from backends.state_topic.claim import Claim
from campaigns.step_record import LateRow, StepRecord, UnleasedRow
from protocol.codec.schema import ZERO_UUID
from protocol.frames import encode_request, encode_response, parse_request
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.record_batch import BatchRecord, Producer, encode_batch

BY_NAME, BY_ID = 9, 13
SESSION = 3.0
ID = b"i" * 16


def produce(record: BatchRecord, topic: str = "state", version: int = BY_NAME) -> bytes:
    batch = encode_batch([record], Producer(1, 1), 0, 0)
    topic_id = ID if version == BY_ID and topic == "state" else ZERO_UUID
    topics = (TopicProduceData(topic, topic_id, (PartitionProduceData(0, batch),)),)
    return encode_request(ProduceRequest(None, -1, 1000, topics), version, 5, "c")[4:]


def claim(term: int) -> BatchRecord:
    made = Claim(instance="i", term=term, producer_id=1, producer_epoch=term, replaces=None, session_ms=3000)
    return made.encode()


def step(rows: int = 1) -> bytes:
    partitions = [ReassignablePartition(number, (1, 2)) for number in range(rows)]
    topics = [ReassignableTopic("foo", partitions)] if rows else []
    return encode_request(AlterPartitionReassignmentsRequest(topics=topics), 0, 6, "c")[4:]


@pytest.fixture
def record() -> StepRecord:
    return StepRecord("state", SESSION)


def write(record: StepRecord, payload: bytes, pid: int, now: float = 0.0, code: int = 0) -> bool:
    """Send a batch and give the instance its answer."""
    sent = record.request(payload, pid, now, now)
    assert sent is not None
    correlation, batch = sent
    assert correlation == 5
    rows = (TopicProduceResponse("state", ID, (PartitionProduceResponse(0, code, 0),)),)
    answer = encode_response(parse_request(payload), ProduceResponse(responses=rows))[4:]
    written = record.answer(answer, pid, batch)
    if written:
        record.acknowledged(pid, batch)
    return written


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_a_step_of_the_active_instance_is_counted(record: StepRecord, version: int) -> None:
    assert write(record, produce(claim(1), version=version), 10)
    record.request(step(3), 10, SESSION, SESSION)
    assert (record.rows, record.late, record.unleased, record.claims) == (3, [], [], [(1, 10)])


def test_a_step_after_the_claim_of_another_instance_is_late(record: StepRecord) -> None:
    write(record, produce(claim(1)), 10)
    write(record, produce(claim(2)), 20)
    record.request(step(), 10, 1, 1)
    assert record.late == [LateRow(10, 1, 2)]


def test_a_refused_claim_and_an_empty_request_prove_nothing(record: StepRecord) -> None:
    write(record, produce(claim(1)), 10)
    assert not write(record, produce(claim(2)), 20, code=47)
    record.request(step(0), 20, 1, 1)
    record.request(step(), 10, 1, 1)
    assert record.late == []


def test_a_step_long_after_the_last_batch_has_no_lease(record: StepRecord) -> None:
    write(record, produce(claim(1)), 10)
    record.request(step(2), 10, 3.5, 3.5)
    assert record.unleased == [UnleasedRow(10, 2, 3.5)]


def test_the_earliest_arrival_of_a_step_counts(record: StepRecord) -> None:
    write(record, produce(claim(1)), 10)
    record.request(step(), 10, 2.5, 3.5)
    assert record.unleased == []


def test_a_batch_by_id_counts_after_a_transaction_by_name(record: StepRecord) -> None:
    write(record, produce(claim(1), version=BY_ID), 10)
    write(record, produce(claim(1), version=BY_NAME), 10)
    write(record, produce(BatchRecord(b"[]", None), version=BY_ID), 10, now=2)
    record.request(step(), 10, 4.5, 4.5)
    assert record.unleased == []


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_each_acknowledged_batch_extends_the_lease(record: StepRecord, version: int) -> None:
    write(record, produce(claim(1), version=version), 10)
    write(record, produce(BatchRecord(b"[]", None), version=version), 10, now=2)
    record.request(step(), 10, 4.5, 4.5)
    assert record.unleased == []


def test_batches_without_an_acknowledgment_do_not_extend_it(record: StepRecord) -> None:
    write(record, produce(claim(1)), 10)
    assert record.request(produce(BatchRecord(b"[]", None)), 10, 2, 2) is not None
    write(record, produce(BatchRecord(b"[]", None)), 10, now=2, code=47)
    write(record, produce(BatchRecord(b"[]", None)), 20, now=2)
    record.request(step(), 10, 4.5, 4.5)
    assert [row.seconds for row in record.unleased] == [4.5]


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_batches_of_other_topics_are_not_counted(record: StepRecord, version: int) -> None:
    write(record, produce(claim(1), version=version), 10)
    assert record.request(produce(BatchRecord(b"[]", None), "other", version), 10, 1, 1) is None
