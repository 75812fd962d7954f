"""The order rule: which batches of the log are valid."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.state_topic.claim import CLAIM_KEY
from backends.state_topic.history import RETRY_SECONDS, DecodedRows, History
from backends.state_topic.state_rows import RowWriter, decode_records
from common.clock import ManualClock, settle
from common.tasks import cancel
from controller.model.audit import AuditAction, AuditEntry, AuditTrim
from controller.model.cluster import Deleted, Pending, TopicPartition
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord, Producer
from tests.backends.state_topic.builders import PRODUCER, Log, a_claim, row

NEWER = Producer(7, 1)
TRANSACTIONAL = 0x10


def read(log: Log) -> History:
    history = History()
    history.apply(log.batches)
    return history


def test_rows_are_replaced_and_deleted() -> None:
    log = Log().claim(a_claim()).add(row("a", "1"), row("b", "1")).add(row("a", "2"), row("b", None))
    assert read(log).rows == {b"a": b"2"}
    assert read(log).next_offset == 5


def test_batches_of_an_older_claim_are_dropped_and_repaired() -> None:
    log = (
        Log()
        .claim(a_claim())
        .add(row("a", "1"))
        .claim(a_claim(2, NEWER))
        .add(row("a", "late"), row("b", "late"))
    )
    history = read(log)
    assert (history.rows, history.foreign_batches) == ({b"a": b"1"}, 1)
    assert history.take_repairs() == [row("a", "1"), row("b", None)]
    assert history.take_repairs() == []


def test_before_the_first_claim_all_batches_are_valid_since_compaction_removes_claims() -> None:
    assert read(Log().add(row("a")).claim(a_claim(2, NEWER))).rows == {b"a": b"row"}


def test_a_transaction_is_valid_from_its_marker_on() -> None:
    log = (
        Log().claim(a_claim()).add(row("a"), attributes=TRANSACTIONAL).add(row("b"), attributes=TRANSACTIONAL)
    )
    assert read(log).rows == {}
    assert set(read(log.marker(commit=True)).rows) == {b"a", b"b"}


def test_an_aborted_transaction_has_no_rows() -> None:
    log = Log().claim(a_claim()).add(row("a"), attributes=TRANSACTIONAL).marker(commit=False, producer=NEWER)
    assert (read(log).rows, read(log).foreign_batches) == ({}, 0)


def test_a_claim_in_a_transaction_is_a_beat() -> None:
    beat = Log().claim(a_claim()).add(a_claim().encode(), attributes=TRANSACTIONAL).marker(commit=True)
    assert (read(beat).rows, read(beat).claim, read(beat).foreign_batches) == ({}, a_claim(), 0)


def test_compaction_can_leave_only_the_claim_in_a_transaction() -> None:
    log = Log().add(a_claim(4).encode(), attributes=TRANSACTIONAL)
    assert read(log).claim is None
    assert read(log.marker(commit=True)).claim == a_claim(4)


def test_a_claim_ends_the_open_transaction_of_another_producer_id() -> None:
    other = Producer(8, 0)
    log = Log().claim(a_claim()).add(row("a"), attributes=TRANSACTIONAL)
    history = read(log.claim(a_claim(2, other, replaces=tuple(PRODUCER))).marker(commit=True))
    assert (history.rows, history.foreign_batches) == ({}, 1)


def test_a_claim_that_is_not_valid_is_repaired() -> None:
    log = Log().claim(a_claim(2, NEWER)).claim(a_claim(3, Producer(8, 0)))
    history = read(log)
    assert history.claim == a_claim(2, NEWER)
    assert [record.key for record in history.take_repairs()] == [CLAIM_KEY]


def test_a_claim_in_the_name_of_another_producer_is_not_valid() -> None:
    log = Log().claim(a_claim()).add(a_claim(9, Producer(7, 9)).encode(), producer=NEWER)
    assert read(log).claim == a_claim()


def test_the_term_of_the_replaced_claim_is_known() -> None:
    log = Log().claim(a_claim(4)).claim(a_claim(4, NEWER))
    assert read(log).last_term == 4
    assert read(log.claim(a_claim(5, NEWER))).last_term == 4


def test_batches_are_applied_once() -> None:
    log = Log().claim(a_claim()).add(row("a", "1")).add(row("a", "2"))
    history = read(log)
    history.apply(log.batches[:2])
    assert history.rows == {b"a": b"2"}


def test_a_row_without_a_key_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="no key"):
        read(Log().claim(a_claim()).add(row("a")._replace(key=None)))


def test_an_unreadable_batch_of_another_program_is_dropped_and_all_rows_are_repaired() -> None:
    log = Log().claim(a_claim()).add(row("a")).add(row("b"), producer=Producer(9, 0), attributes=1)
    history = read(log)
    assert (history.rows, history.foreign_batches) == ({b"a": b"row"}, 1)
    assert history.take_repairs() == [a_claim().encode(), row("a")]


def test_an_unreadable_batch_of_the_active_instance_is_refused() -> None:
    with pytest.raises(DecodeError, match="compressed"):
        read(Log().claim(a_claim()).add(row("a"), attributes=1))


def foreign() -> Log:
    """A log with a row, which another client overwrites after the next own row."""
    log = Log().claim(a_claim()).add(row("a", "1"), sequence=1).add(row("b", "1"), sequence=2)
    return log.add(row("a", "foreign"), producer=Producer(9, 0))


def test_repairs_wait_until_all_own_batches_were_read() -> None:
    history = read(foreign())
    assert history.repairs_after(4) is None
    assert history.repairs_after(3) == [row("a", "1")]
    assert history.repairs_after(3) == []


def test_repairs_wait_for_the_marker_of_an_open_transaction() -> None:
    log = foreign().add(row("a", "2"), attributes=TRANSACTIONAL, sequence=3)
    assert read(log).repairs_after(4) is None
    assert read(log.marker(commit=True)).repairs_after(4) == []


def test_a_row_that_was_written_again_needs_no_repair() -> None:
    assert read(foreign().add(row("a", "2"), sequence=3)).take_repairs() == []


WRITER = RowWriter()
ROWS = [WRITER.encode(Pending("foo", number % 50, (number,), 1))[0] for number in range(3_000)]


def a_history() -> tuple[Log, History]:
    return Log().claim(a_claim()), History()


def write(log: Log, history: History, *rows: BatchRecord) -> None:
    log.add(*rows)
    history.apply(log.batches)


async def taken(rows: DecodedRows) -> tuple[RowWriter, list[object]]:
    writer, records = await rows.take()
    return writer, list(records)


@given(st.lists(st.tuples(st.integers(0, 2_999), st.booleans()), max_size=60), st.integers(0, 60))
async def test_records_are_those_of_all_rows_whenever_they_were_decoded(
    written: list[tuple[int, bool]], pause: int
) -> None:
    log, history = a_history()
    rows = DecodedRows(history)
    following = asyncio.ensure_future(rows.follow(ManualClock()))
    for number, (index, deleted) in enumerate(written):
        write(log, history, ROWS[index]._replace(value=None) if deleted else ROWS[index])
        if number == pause:
            await asyncio.sleep(0)
    await cancel(following)
    _, records = await taken(rows)
    assert records == list(decode_records(history.rows.items()))


async def test_many_rows_are_decoded_in_slices() -> None:
    log, history = a_history()
    many = [WRITER.encode(Pending("many", 9_000 - number, (1,), 1))[0] for number in range(5_000)]
    write(log, history, *many)
    following = asyncio.ensure_future(DecodedRows(history).follow(ManualClock()))
    await asyncio.sleep(0)
    await cancel(following)
    assert len(history.changed or ()) == 4_000


async def test_decoding_that_was_cancelled_goes_on_when_the_records_are_taken() -> None:
    log, history = a_history()
    write(
        log,
        history,
        *[row for number in range(5_000) for row in WRITER.encode(Pending("x", number, (1,), 1))],
    )
    rows = DecodedRows(history)
    following = asyncio.ensure_future(rows.follow(ManualClock()))
    await asyncio.sleep(0)
    await cancel(following)
    writer, records = await taken(rows)
    assert records == list(decode_records(history.rows.items()))
    assert history.changed is None
    again = writer.encode(Pending("x", 1, (2,), 1))[0]
    assert (again.value or b"").split(b'"sequence"')[1] == (history.rows[again.key or b""]).split(
        b'"sequence"'
    )[1]


async def test_a_row_that_cannot_be_decoded_is_an_obstacle_until_it_changes() -> None:
    (log, history), clock = a_history(), ManualClock()
    rows = DecodedRows(history)
    write(log, history, row("x"))
    following = asyncio.ensure_future(rows.follow(clock))
    await settle()
    seen = [rows.obstacle]
    with pytest.raises(DecodeError, match="not JSON"):
        await rows.take()
    write(log, history, BatchRecord(b"x", None))
    await clock.advance(RETRY_SECONDS)
    assert [*seen, rows.obstacle] == ["a row of the state topic is not JSON: b'x'", None]
    await cancel(following)


async def test_a_row_that_returns_is_the_last() -> None:
    log, history = a_history()
    first, second = Pending("a", 0, (1,), 1), Pending("b", 0, (1,), 1)
    source = RowWriter()
    write(log, history, *source.encode(first), *source.encode(second))
    rows = DecodedRows(history)
    write(log, history, *source.encode(Deleted(Pending, TopicPartition("a", 0))))
    writer, _ = await taken(rows)
    write(log, history, *writer.encode(first))
    assert list(decode_records(history.rows.items())) == [second, first]


async def test_entries_that_were_deleted_are_not_trimmed_again() -> None:
    log, history = a_history()
    rows = DecodedRows(history)
    entries = [AuditEntry(number, 5, AuditAction.PAUSE, "User:anna", None, 0, "{}") for number in (4, 5)]
    write(log, history, *[row for entry in entries for row in WRITER.encode(entry)])
    write(
        log, history, *WRITER.encode(AuditTrim(5)), *WRITER.encode(Deleted(Pending, TopicPartition("x", 0)))
    )
    writer, _ = await taken(rows)
    assert [row.key for row in writer.encode(AuditTrim(7))] == [b'["audit",5]', b'["audit",6]']
