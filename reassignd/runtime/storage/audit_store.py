"""The audit log of a data directory, and how long its entries are kept."""

import logging
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from backends.sqlite.audit import AuditReader
from backends.sqlite.datadir import StoreError
from common.clock import Clock
from common.off_loop import WorkerThread
from controller.model.audit import AuditTrim
from controller.ports import Store, StoreLostError
from reassignd.config.config import Settings

log = logging.getLogger(__name__)

PERIOD_SECONDS = 60.0
BATCH = 200
"""Entries that are deleted in one transaction. It takes a few milliseconds, which other commits may wait for."""
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
        """Delete the entries that exceed a limit, now and every PERIOD_SECONDS, until the store fails."""
        while True:
            try:
                await self.trim(now_ms(), clock)
            except (StoreError, StoreLostError):
                # The driver notices it too, and ends the process with the reason.
                return
            except sqlite3.Error as error:
                log.warning("old entries of the audit log could not be found: %s", error)
            await clock.sleep(PERIOD_SECONDS)

    async def trim(self, now_ms: int, clock: Clock) -> None:
        """Delete the entries that exceed a limit, in batches. The newest entry stays: ids continue after it."""
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
