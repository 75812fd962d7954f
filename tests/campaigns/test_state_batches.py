"""Batches of an earlier instance after a claim, and blocked partitions, are found in the log."""

from collections.abc import Sequence
from struct import Struct

import pytest

from backends.state_topic.claim import Claim
from campaigns.state_batches import Findings
from protocol.record_batch import Batch, BatchHeader, BatchRecord, Producer, encode_batch, read_batches

ROW = BatchRecord(b'["meta"]', b'{"format":1}')
BLOCKED = BatchRecord(b'["reassignments","foo",1]', b'{"job":1,"blocked":"another client changed it"}')
MARKER = Struct(">hh")


def batch(epoch: int, *records: BatchRecord, control: bool = False) -> Batch:
    (made,) = read_batches(encode_batch(records, Producer(1, epoch), 0, 0))
    attributes = 0x30 if control else 0
    return Batch(BatchHeader(*made.header)._replace(attributes=attributes), made.payload)


def claim(epoch: int, producer_id: int = 1) -> Batch:
    made = Claim(
        instance="i",
        term=epoch,
        producer_id=producer_id,
        producer_epoch=epoch,
        replaces=None,
        session_ms=3000,
    )
    return batch(epoch, made.encode())


def marker(epoch: int, kind: int) -> Batch:
    return batch(epoch, BatchRecord(MARKER.pack(0, kind), b""), control=True)


def findings(batches: Sequence[Batch]) -> Findings:
    found = Findings()
    found.add(batches)
    return found


def test_batches_of_each_term_are_counted() -> None:
    found = findings([claim(1), batch(1, ROW), claim(1), claim(2), batch(2, ROW), marker(2, 1)])
    assert (found.batches, found.claims, found.late, found.blocked) == (5, 2, [], [])


@pytest.mark.parametrize("late", [batch(1, ROW), claim(1), marker(1, 1)])
def test_what_an_earlier_instance_writes_after_a_claim_is_late(late: Batch) -> None:
    found = findings([claim(1), claim(2), late])
    assert len(found.late) == 1


def test_an_aborted_transaction_of_an_earlier_instance_is_not_late() -> None:
    assert findings([claim(1), claim(2), marker(1, 0)]).late == []


def test_a_blocked_partition_is_found() -> None:
    assert len(findings([claim(1), batch(1, BLOCKED)]).blocked) == 1
