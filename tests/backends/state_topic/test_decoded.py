"""Rows that a standby decodes before it takes over."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.state_topic.decoded import RETRY_SECONDS, DecodedRows
from backends.state_topic.history import History
from backends.state_topic.rows import RowWriter, decode_records
from common.clock import ManualClock, settle
from common.tasks import cancel
from controller.model.audit import AuditAction, AuditEntry, AuditTrim
from controller.model.cluster import Deleted, Pending, TopicPartition
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord
from tests.backends.state_topic.builders import Log, a_claim, row

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
