"""How long ended jobs and the entries of the audit log are kept, and the clock by which they are too old.

What is deleted because of a wrong clock does not come back. So nothing is too old until the wall clock has
agreed with the monotonic clock for a day, from the start of the process or from a jump on: time for NTP, or
for an operator.
"""

import logging
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from backends.sqlite.audit import AuditReader
from backends.sqlite.datadir import StoreError
from common.clock import Clock, wall_clock
from common.off_loop import WorkerThread
from controller.messages.job_events import Prune
from controller.model.audit import AuditTrim
from controller.ports import Store, StoreLostError, Submitter
from reassignd.config.settings import Settings
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

JUMP_SECONDS = 60.0
"""A smaller step between two calls is a correction."""

TRUSTED_AFTER_SECONDS = 24 * 3600.0


class AgeClock:
    """Returns milliseconds since 1970 for the comparison with an age of at most `retention_ms`.

    0 when not trusted.

    A retention that is shorter than a day is also the time until the clock is trusted.
    """

    def __init__(self, retention_ms: int, clock: Clock, wall_ms: Callable[[], int] = wall_clock) -> None:
        self._clock, self._wall_ms = clock, wall_ms
        self._wait = min(TRUSTED_AFTER_SECONDS, retention_ms / 1000)
        self._since = clock.now()
        self._offset = self._difference()

    def _difference(self) -> float:
        return self._wall_ms() / 1000 - self._clock.now()

    def __call__(self) -> int:
        """Return the time. Called once a minute or so."""
        offset, before = self._difference(), self._offset
        self._offset = offset
        if abs(offset - before) > JUMP_SECONDS:
            self._since = self._clock.now()
            log.warning(
                "the clock has jumped by %.0f s: no job and no audit entry is deleted for its age for %.0f s",
                offset - before,
                self._wait,
            )
        return self._wall_ms() if self._clock.now() - self._since >= self._wait else 0


PRUNE_SECONDS = 60.0


class Retention(NamedTuple):
    """Limits for ended jobs: their age, their number, and the number of their partitions together."""

    milliseconds: int
    jobs: int
    partitions: int


async def prune_periodically(
    controller: Submitter, retention: Retention, now_ms: Callable[[], int], clock: Clock
) -> None:
    """Delete the jobs that exceed a limit, now and every PRUNE_SECONDS, until the controller has stopped.

    `now_ms` returns the wall-clock time, which jobs are dated with.
    """
    while True:
        try:
            oldest_ms = now_ms() - retention.milliseconds
            await controller.submit(Prune(oldest_ms, retention.jobs, retention.partitions))
        except DriverStoppedError:
            return
        await clock.sleep(PRUNE_SECONDS)


TRIM_SECONDS = 60.0
BATCH = 200
"""Entries that are deleted in one transaction. It takes a few milliseconds, which other commits may wait
for."""
PAUSE_SECONDS = 0.05
"""Between two batches."""


class AuditRetention(NamedTuple):
    """Limits of the entries: their age, and their number."""

    milliseconds: int
    entries: int


def audit_retention(settings: Settings) -> AuditRetention:
    """Return the configured limits."""
    return AuditRetention(settings.audit_retention_ms, settings.audit_retention_entries)


class AuditStore(NamedTuple):
    """The log's reader, and the store that its entries are committed to with the records."""

    store: Store
    reader: AuditReader
    off_loop: WorkerThread
    retention: AuditRetention

    async def trim_periodically(self, now_ms: Callable[[], int], clock: Clock) -> None:
        """Delete the entries that exceed a limit, now and every TRIM_SECONDS, until the term is lost.

        A store that has failed is tried again: it may be one that recovers. Else the process ends anyway.
        """
        while True:
            try:
                await self.trim(now_ms(), clock)
            except StoreLostError:
                return
            except (StoreError, sqlite3.Error) as error:
                log.warning("old entries of the audit log could not be deleted: %s", error)
            await clock.sleep(TRIM_SECONDS)

    async def trim(self, now_ms: int, clock: Clock) -> None:
        """Delete the entries that exceed a limit, in batches.

        The newest entry stays: ids continue after it.
        """
        oldest, target = await self.off_loop.run(self._target, now_ms)
        while oldest < target:
            oldest = min(target, oldest + BATCH)
            await self.store.commit([AuditTrim(oldest)])
            await clock.sleep(PAUSE_SECONDS)

    def _target(self, now_ms: int) -> tuple[int, int]:
        """Return the oldest id, and the oldest that is to be kept."""
        span = self.reader.span()
        expired = self.reader.first_at(now_ms - self.retention.milliseconds)
        return span.oldest, min(span.newest, max(expired, span.newest - self.retention.entries + 1))
