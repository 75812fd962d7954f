"""The writer: batches, transactions, beats, retries, and the end of a term."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from math import inf

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.state_topic.candidate import ClaimedTerm
from backends.state_topic.claim import Lease
from backends.state_topic.log import FIRST_PAUSE, Timings
from backends.state_topic.writer import (
    ENCODED_PER_SLICE,
    MAX_BATCH_BYTES,
    RECORD_OVERHEAD,
    Batches,
    TermWriter,
    WriteCounts,
)
from common.clock import ManualClock
from common.tasks import cancel
from controller.model.cluster import Change, Deleted, Paused, Pending, Record, TopicPartition
from controller.ports import StoreLostError
from protocol.record_batch import BatchRecord
from tests.backends.state_topic.builders import FENCED, RecordedLog, ScriptedLog, a_claim, opened, row
from tests.examples import examples

BEAT = a_claim().encode()
LOST = OSError("no answer")


class Rig:
    """A writer with its log, clock and lease."""

    def __init__(self, *failures: Exception | None, on_append: Callable[[], None] = lambda: None) -> None:
        self.clock = ManualClock()
        self.log = ScriptedLog(*failures, on_append=on_append)
        timings = Timings(6.0)
        self.lease = Lease(self.clock, timings.lease)
        self.lease.renew(0.0)
        self.writer = TermWriter(
            self.log, ClaimedTerm(a_claim(), 1, 0.0, -inf), self.lease, timings, self.clock
        )

    def commit(self, *records: BatchRecord) -> asyncio.Future[None]:
        return self.writer.commit(records)

    @property
    def appended(self) -> list[tuple[int, list[BatchRecord]]]:
        return [(sequence, records) for sequence, records, _ in self.log.appended]


@asynccontextmanager
async def running(rig: Rig) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(rig.writer.run())
    await rig.clock.advance(0)
    yield task
    rig.writer.close()
    with suppress(StoreLostError):
        await rig.clock.advance(2.0)
        await task


def many(count: int, size: int) -> Sequence[BatchRecord]:
    return [row(f"k{number}", "x" * size) for number in range(count)]


async def test_waiting_commits_share_a_batch() -> None:
    rig = Rig()
    commits = [rig.commit(row("a")), rig.commit(row("b"), row("c"))]
    async with running(rig):
        assert rig.appended == [(1, [row("a"), row("b"), row("c")])]
        assert all(commit.done() for commit in commits)


async def test_sequences_count_records() -> None:
    rig = Rig()
    async with running(rig):
        for records in ([row("a"), row("b")], [row("c")]):
            commit = rig.commit(*records)
            await rig.clock.advance(0)
            assert commit.done()
        assert [sequence for sequence, _ in rig.appended] == [1, 3]


async def test_a_batch_without_an_answer_is_repeated_with_its_sequence() -> None:
    rig = Rig(LOST, LOST)
    async with running(rig):
        commit = rig.commit(row("a"))
        await rig.clock.advance(0.2)
        assert (rig.appended, rig.log.calls, commit.done()) == ([(1, [row("a")])], ["append"] * 3, True)


async def test_without_commits_a_beat_is_written() -> None:
    rig = Rig()
    async with running(rig):
        await rig.clock.advance(1.1)
        assert rig.appended == [(1, [BEAT])]
        await rig.clock.advance(4.5)
        assert rig.lease.valid


async def test_a_beat_is_a_transaction_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.state_topic.writer.TRANSACTION_SECONDS", 60)
    rig = Rig()
    async with running(rig):
        while rig.clock.now() < 61:
            await rig.clock.advance(1.0)
        assert rig.log.calls.count("begin") == rig.log.calls.count("end") == 1


async def test_a_commit_larger_than_a_batch_is_one_transaction() -> None:
    rig = Rig()
    large = rig.commit(*many(30, 100_000))
    small = rig.commit(row("a"))
    async with running(rig):
        assert rig.log.calls == ["begin", *["append"] * 30, "end", "append"]
        assert [transactional for *_, transactional in rig.log.appended] == [True] * 30 + [False]
        assert large.done()
        assert small.done()


async def test_a_newer_epoch_ends_the_term_and_fails_all_commits() -> None:
    rig = Rig(FENCED)
    commits = [rig.commit(row("a")), rig.commit(*many(10, 100_000))]
    async with running(rig) as task:
        assert isinstance(task.exception(), StoreLostError)
        assert not rig.lease.valid
        for commit in [*commits, rig.commit(row("b"))]:
            assert isinstance(commit.exception(), StoreLostError)


async def test_an_unexpected_error_ends_the_term_and_fails_all_commits() -> None:
    rig = Rig(AttributeError("of a fault"))
    commits = [rig.commit(row("a")), rig.commit(row("b"))]
    task = asyncio.create_task(rig.writer.run())
    await rig.clock.advance(0)
    assert isinstance(task.exception(), AttributeError)
    for commit in [*commits, rig.commit(row("c"))]:
        with pytest.raises(StoreLostError, match="of a fault"):
            await commit
    assert not rig.lease.valid


async def test_a_writer_that_is_cancelled_fails_the_commits_that_wait() -> None:
    rig = Rig(*[LOST] * 20)
    commit = rig.commit(row("a"))
    task = asyncio.create_task(rig.writer.run())
    await rig.clock.advance(0.2)
    await cancel(task)
    assert isinstance(commit.exception(), StoreLostError)


async def test_an_answer_after_the_lease_has_lapsed_ends_the_term() -> None:
    rig = Rig(*[LOST] * 20)
    async with running(rig) as task:
        commit = rig.commit(row("a"))
        for _ in range(20):
            await rig.clock.advance(1.0)
        assert rig.appended
        assert isinstance(task.exception(), StoreLostError)
        with pytest.raises(StoreLostError, match="within the lease"):
            await commit


async def test_a_closed_writer_writes_waiting_commits_and_refuses_more() -> None:
    rig = Rig()
    commit = rig.commit(row("a"))
    rig.writer.close()
    async with running(rig) as task:
        assert commit.done()
        assert task.done()
        assert isinstance(rig.commit(row("b")).exception(), StoreLostError)


async def test_a_released_claim_is_the_last_batch() -> None:
    rig = Rig()
    async with running(rig):
        _ = rig.commit(row("a"))
        rig.writer.close(release=True)
        await rig.clock.advance(1)
    assert [records for _, records in rig.appended] == [[row("a")], [a_claim(released=True).encode()]]


async def test_overwritten_rows_are_written_again_when_all_own_batches_were_read() -> None:
    rig = Rig()
    wanted: list[int] = []

    def repairs(sequence: int) -> list[BatchRecord] | None:
        wanted.append(sequence)
        return None if len(wanted) < 3 else [row("a")] if len(wanted) == 3 else []

    rig.writer = TermWriter(
        rig.log, ClaimedTerm(a_claim(), 1, 0.0, -inf), rig.lease, Timings(6.0), rig.clock, repairs
    )
    async with running(rig):
        _ = rig.commit(row("b"))
        await rig.clock.advance(1)
    assert rig.appended[:2] == [(1, [row("a")]), (2, [row("b")])]
    assert wanted[:3] == [1, 1, 1]


async def test_an_overwritten_claim_is_written_again_in_a_batch_of_its_own() -> None:
    rig = Rig()
    rows = [[row("a"), BEAT]]
    rig.writer = TermWriter(
        rig.log,
        ClaimedTerm(a_claim(), 1, 0.0, -inf),
        rig.lease,
        Timings(6.0),
        rig.clock,
        lambda _: rows.pop() if rows else [],
    )
    async with running(rig):
        _ = rig.commit(row("b"))
        await rig.clock.advance(1)
    assert [records for _, records in rig.appended][:3] == [[row("a")], [BEAT], [row("b")]]


async def test_a_commit_without_records_waits_for_earlier_ones_and_writes_nothing() -> None:
    rig = Rig()
    async with running(rig):
        await rig.commit()
        commits = [rig.commit(row("a")), rig.commit()]
        await rig.clock.advance(0.5)
        assert [commit.done() for commit in commits] == [True, True]
        assert rig.appended == [(1, [row("a")])]


async def test_acknowledged_batches_are_counted_with_the_time_that_they_took() -> None:
    rig, counts = Rig(), WriteCounts()
    rig.writer = TermWriter(
        rig.log, ClaimedTerm(a_claim(), 1, 0.0, -inf), rig.lease, Timings(6.0), rig.clock, counts=counts
    )
    rig.log.failures.append(OSError("no answer"))
    async with running(rig):
        _ = rig.commit(row("a"))
        await rig.clock.advance(0.5)
    assert (counts.batches, counts.seconds) == (1, FIRST_PAUSE)


sizes = st.lists(st.integers(0, MAX_BATCH_BYTES // 2 * 3), max_size=8)


def rows(numbers: list[int]) -> list[BatchRecord]:
    return [row(f"k{index}", "x" * size) for index, size in enumerate(numbers)]


def size(batch: list[BatchRecord]) -> int:
    return sum(len(key or b"") + len(value or b"") + RECORD_OVERHEAD for key, value in batch)


@given(sizes, sizes)
def test_batches_have_all_rows_in_order_and_only_a_single_row_is_too_long(
    first: list[int], second: list[int]
) -> None:
    batches = Batches(rows(first))
    batches.add(rows(second))
    assert [each for batch in batches.batches for each in batch] == rows(first) + rows(second)
    assert all(size(batch) <= MAX_BATCH_BYTES or len(batch) == 1 for batch in batches.batches)


@example([], [MAX_BATCH_BYTES])
@given(sizes, sizes)
def test_commits_join_if_they_fit_into_one_batch(first: list[int], second: list[int]) -> None:
    batches = Batches(rows(first))
    joined = batches.join(Batches(rows(second)))
    one = len(Batches(rows(first) + rows(second)).batches) <= 1
    assert joined == one
    assert [each for batch in batches.batches for each in batch] == rows(first) + (
        rows(second) if one else []
    )


async def committed(log: RecordedLog, *commits: Sequence[Change]) -> list[Record]:
    """Commit at once, in order; return the records that the next instance loads."""
    async with opened(log) as store:
        await asyncio.gather(*[store.commit(changes) for changes in commits])
    async with opened(log) as store:
        return list(store.load())


async def test_a_large_commit_is_atomic_and_later_commits_follow_it() -> None:
    many = [Pending("foo", number, (1,), 1) for number in range(10 * ENCODED_PER_SLICE)]
    last = Deleted(Pending, TopicPartition("foo", 0))
    assert await committed(RecordedLog(), [Paused(True)], many, [last]) == [*many[1:], Paused(True)]


keys = st.tuples(st.sampled_from(["foo", "bar"]), st.integers(0, 2))
puts = st.builds(lambda key, target: Pending(key[0], key[1], (target,), 1), keys, st.integers(0, 9))


@settings(max_examples=examples(50))
@given(st.lists(st.lists(puts, min_size=1, max_size=4), min_size=1, max_size=6), st.integers(0, 5))
async def test_a_new_instance_goes_on_where_the_last_one_stopped(
    commits: list[list[Pending]], cut: int
) -> None:
    log, together = RecordedLog(), RecordedLog()
    await committed(log, *commits[:cut])
    assert await committed(log, *commits[cut:]) == await committed(together, *commits)
