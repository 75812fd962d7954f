"""Entries of the audit log beyond a limit are deleted periodically."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from backends.sqlite.datadir import StoreError
from backends.sqlite.store import SqliteStore
from common.clock import ManualClock
from common.off_loop import WorkerThread
from controller.model.audit import AuditAction, AuditEntry
from reassignd.runtime.storage.audit_store import BATCH, AuditRetention, AuditStore

ENTRIES = 2 * BATCH + 5


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path)) as result:
        yield result


@pytest.fixture
def audit(store: SqliteStore) -> Iterator[AuditStore]:
    with closing(store.audit_reader()) as reader, closing(WorkerThread()) as worker:
        yield AuditStore(store, reader, worker, AuditRetention(10_000, ENTRIES))


class InstantClock(ManualClock):
    """A clock whose sleeps end at once."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def fill(store: SqliteStore) -> None:
    """Store entries with the time of their id."""
    await store.commit(
        [AuditEntry(number, number, AuditAction.PAUSE, "", None, 0, "{}") for number in range(1, ENTRIES + 1)]
    )


async def test_entries_within_the_limits_stay(audit: AuditStore, store: SqliteStore) -> None:
    await fill(store)
    await audit.trim(10_000, InstantClock())
    assert audit.reader.span().oldest == 1


async def test_entries_beyond_the_number_are_deleted(audit: AuditStore, store: SqliteStore) -> None:
    await fill(store)
    await audit._replace(retention=AuditRetention(10_000, 3)).trim(0, InstantClock())
    assert audit.reader.span()[:2] == (ENTRIES - 2, ENTRIES)


async def test_entries_beyond_the_age_are_deleted_but_for_the_newest(
    audit: AuditStore, store: SqliteStore
) -> None:
    await fill(store)
    await audit.trim(10_000 + 50, InstantClock())
    assert audit.reader.span().oldest == 50
    await audit.trim(10_000 * ENTRIES, InstantClock())
    assert audit.reader.span()[:2] == (ENTRIES, ENTRIES)


async def test_an_empty_log_is_left_alone(audit: AuditStore) -> None:
    await audit.trim(10**15, InstantClock())
    assert audit.reader.span().newest == 0


async def test_the_task_ends_with_the_store(
    audit: AuditStore, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    await fill(store)
    monkeypatch.setattr(store, "commit", fail)
    strict = audit._replace(retention=AuditRetention(10_000, 1))
    await asyncio.wait_for(strict.trim_periodically(lambda: 0, InstantClock()), 60)
