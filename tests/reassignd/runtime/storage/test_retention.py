"""When history may be deleted for its age."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backends.sqlite.datadir import StoreError
from backends.sqlite.store import SqliteStore
from common.clock import ManualClock
from common.off_loop import WorkerThread
from controller.messages.event import AnyEvent
from controller.messages.job_events import Prune
from controller.model.audit import AuditAction, AuditEntry
from controller.ports import StoreLostError
from reassignd.runtime.storage.retention import (
    BATCH,
    PRUNE_SECONDS,
    TRUSTED_AFTER_SECONDS,
    AgeClock,
    AuditRetention,
    AuditStore,
    Retention,
    prune_periodically,
)
from server.driver.driver import DriverStoppedError

YEAR = 365 * 24 * 3600.0


class Machine:
    """A machine whose wall clock can be set."""

    def __init__(self, retention: float = YEAR) -> None:
        self.clock, self.ahead = ManualClock(), 1e9
        self.age = AgeClock(int(retention * 1000), self.clock, self.wall_ms)

    def wall_ms(self) -> int:
        return int((self.clock.now() + self.ahead) * 1000)

    async def after(self, seconds: float) -> bool:
        """Return whether the clock is trusted after this time."""
        await self.clock.advance(seconds)
        return self.age() == self.wall_ms()


async def test_a_clock_is_trusted_after_a_day() -> None:
    machine = Machine()
    assert machine.age() == 0
    assert not await machine.after(TRUSTED_AFTER_SECONDS - 1)
    assert await machine.after(1)


@pytest.mark.parametrize("jump", [2 * YEAR, -2 * YEAR])
async def test_a_clock_that_jumps_is_trusted_a_day_later(
    jump: float, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    assert await machine.after(TRUSTED_AFTER_SECONDS)
    machine.ahead += jump
    assert not await machine.after(60)
    assert f"the clock has jumped by {jump:.0f} s" in caplog.text
    assert await machine.after(TRUSTED_AFTER_SECONDS)


async def test_small_corrections_change_nothing() -> None:
    machine = Machine()
    await machine.after(TRUSTED_AFTER_SECONDS)
    machine.ahead += 30
    assert await machine.after(60)


async def test_a_short_retention_is_a_short_wait() -> None:
    assert await Machine(retention=10).after(10)


class Controller:
    def __init__(self, times: int) -> None:
        self.events: list[AnyEvent] = []
        self.times = times

    async def submit(self, event: AnyEvent) -> Any:
        if len(self.events) == self.times:
            raise DriverStoppedError("stopped")
        self.events.append(event)


async def test_it_prunes_at_once_and_after_each_period_until_the_controller_stops() -> None:
    controller, clock = Controller(2), ManualClock()
    times = iter([10_000, 20_000, 30_000])
    pruning = asyncio.create_task(
        prune_periodically(controller, Retention(1_000, 5, 7), lambda: next(times), clock)
    )
    await clock.advance(PRUNE_SECONDS - 1)
    assert controller.events == [Prune(9_000, 5, 7)]
    await clock.advance(1)
    assert controller.events == [Prune(9_000, 5, 7), Prune(19_000, 5, 7)]
    await clock.advance(PRUNE_SECONDS)
    assert pruning.done()


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


async def test_a_full_disk_is_tried_again_until_the_term_is_lost(
    audit: AuditStore, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [StoreLostError("claimed by another"), StoreError("the disk is full")]

    def fail(_: object) -> None:
        raise failures.pop()

    await fill(store)
    monkeypatch.setattr(store, "commit", fail)
    strict = audit._replace(retention=AuditRetention(10_000, 1))
    await asyncio.wait_for(strict.trim_periodically(lambda: 0, InstantClock()), 60)
    assert failures == []
    assert "old entries of the audit log could not be deleted: the disk is full" in caplog.text
