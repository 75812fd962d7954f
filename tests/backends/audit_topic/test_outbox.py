"""Entries of durable decisions are copied to the audit topic, and then deleted from the state topic."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from backends.audit_topic.entries import decode_entry
from backends.audit_topic.outbox import KEPT, AuditOutbox
from common.backoff import RETRY_LATER_SECONDS
from common.clock import ManualClock, settle
from controller.model.audit import AuditEntry
from controller.model.cluster import Paused
from controller.ports import StoreLostError
from protocol.record_batch import BatchRecord
from tests.backends.audit_topic.builders import RecordedStore, an_entry


class Term:
    """An outbox whose topic refuses the first appends as `failures` say."""

    def __init__(self, *failures: Exception, waiting: Sequence[int] = (), lost: bool = False) -> None:
        self.store = RecordedStore(StoreLostError("fenced") if lost else None)
        self.clock = ManualClock()
        self.copied: list[int] = []
        self.shown: list[AuditEntry] = []
        self._failures = list(failures)
        entries = [an_entry(number) for number in waiting]
        self.outbox = AuditOutbox(self.store, self._append, self.shown.extend, entries, self.clock)

    async def _append(self, records: Sequence[BatchRecord]) -> None:
        if self._failures:
            raise self._failures.pop(0)
        self.copied += [decode_entry(record.value or b"").id for record in records]

    async def run(self, seconds: float = 0.0) -> None:
        task = asyncio.create_task(self.outbox.run())
        await settle()
        await self.clock.advance(seconds)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_an_entry_is_copied_and_shown_after_its_commit() -> None:
    term = Term()
    await term.outbox.commit([Paused(True), an_entry(1)])
    assert (term.copied, term.outbox.backlog) == ([], 1)
    await term.run()
    assert (term.copied, term.shown, term.outbox.backlog) == ([1], [an_entry(1)], 0)
    assert term.store.commits == [[Paused(True), an_entry(1)]]


async def test_an_entry_whose_commit_fails_is_not_copied() -> None:
    term = Term(lost=True)
    with pytest.raises(StoreLostError):
        await term.outbox.commit([an_entry(1)])
    await term.run()
    assert (term.copied, term.shown) == ([], [])


async def test_entries_of_earlier_terms_are_copied_first() -> None:
    term = Term(waiting=[3, 4])
    await term.outbox.commit([an_entry(5)])
    await term.run()
    assert term.copied == [3, 4, 5]


async def test_entries_wait_for_the_topic() -> None:
    term = Term(OSError("no leader"), waiting=[1, 2])
    await term.run()
    assert (term.copied, term.outbox.backlog) == ([], 2)
    await term.run(RETRY_LATER_SECONDS)
    assert term.copied == [1, 2]


async def test_copied_entries_are_deleted_together_but_the_newest() -> None:
    term = Term(waiting=range(1, 2 * KEPT + 51))
    await term.run()
    assert term.copied == [*range(1, 2 * KEPT + 51)]
    assert term.store.trims() == [2 * KEPT]


async def test_a_lost_store_ends_the_task() -> None:
    term = Term(waiting=range(1, 2 * KEPT + 1), lost=True)
    await asyncio.wait_for(term.outbox.run(), 5)


def test_records_are_loaded_from_the_store() -> None:
    assert list(Term().outbox.load()) == []
