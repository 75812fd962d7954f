"""The order rule: which batches of the log are valid."""

import pytest

from backends.state_topic.claim import CLAIM_KEY
from backends.state_topic.history import History
from protocol.errors import DecodeError
from protocol.record_batch import Producer
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
