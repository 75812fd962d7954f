"""The audit log of an instance.

A mirror of the audit topic in a temporary database, and the outbox of each term.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from backends.audit_topic.entries import append_entries, entries_in_rows
from backends.audit_topic.mirror import AuditMirror, AuditTopicLog
from backends.audit_topic.outbox import AuditOutbox
from backends.client.errors import BrokerError
from backends.sqlite.datadir import StoreError
from backends.sqlite.store import SqliteStore
from backends.state_topic.log import FencedError, TopicReplacedError
from backends.state_topic.topic import StateTopicError
from common.backoff import RETRY_RARELY_SECONDS
from common.clock import Clock
from common.off_loop import WorkerThread
from common.tasks import cancel, spawn_lasting
from controller.model.audit import AuditEntry
from controller.ports import Store, StoreLostError
from protocol.record_batch import BatchRecord
from reassignd.runtime.storage.records import remove_abandoned
from reassignd.runtime.storage.retention import AgeClock, AuditRetention, AuditStore

log = logging.getLogger(__name__)

FOLDER = "reassignd-audit-"
"""Prefix of the mirror's folder."""


class Connection(Protocol):
    """The connection to the cluster."""

    async def open_audit_topic(self) -> None:
        """Create the audit topic if it does not exist. Raises StateTopicError and BrokerError."""
        ...

    def audit_log(self) -> AuditTopicLog:
        """Return the audit topic that has the configured name now."""
        ...


class TopicAudit:
    """Mirrors the topic for the life of the process, and copies entries to it in each term."""

    def __init__(
        self,
        connection: Connection,
        retention: AuditRetention,
        off_loop: WorkerThread,
        clock: Clock,
    ) -> None:
        self._connection, self._clock = connection, clock
        remove_abandoned(FOLDER)
        self._folder = TemporaryDirectory(prefix=FOLDER)
        self._entries = SqliteStore(Path(self._folder.name), recovers=True)
        self._readers = [self._entries.audit_reader() for _ in range(2)]
        self._mirror = AuditMirror(self._entries)
        self._log = connection.audit_log()
        self.store, self._trimmed = (
            AuditStore(self._entries, reader, off_loop, retention) for reader in self._readers
        )
        """What the API reads, and what is trimmed: a term that begins reads in another thread than the one
        that trims."""

    async def run(self) -> None:
        """Mirror the topic, and trim the mirror, until cancelled."""
        age = AgeClock(self._trimmed.retention.milliseconds, self._clock)
        trim = partial(self._trimmed.trim_periodically, age, self._clock)
        trimming = spawn_lasting(trim, "trimming of the audit log", self._clock)
        try:
            await self._follow()
        finally:
            await cancel(trimming)

    async def _follow(self) -> None:
        failure = ""
        while True:
            try:
                await self._connection.open_audit_topic()
                failure = ""
                await self._mirror.follow(self._log, self._clock)
            except TopicReplacedError as error:
                log.warning("%s: its entries are read again", error)
                self._log = self._connection.audit_log()
            except (StateTopicError, BrokerError) as error:
                if str(error) != failure:
                    failure = str(error)
                    log.warning("%s; entries of the audit log stay in the state topic until then", error)
            await self._clock.sleep(RETRY_RARELY_SECONDS)

    async def begin_term(self, store: Store, rows: Mapping[bytes, bytes]) -> AuditOutbox:
        """Return the store of a term, which copies its entries while it runs.

        Raises DecodeError, and StoreLostError if the mirror cannot be written: without its newest entry, ids
        would be given twice.

        `rows` are those of the state topic; the newest of their entries has the newest id.
        """
        waiting = entries_in_rows(rows)
        try:
            await self._mirror.add(waiting)
        except StoreError as error:
            raise StoreLostError(f"the audit log is incomplete: {error}") from error
        return AuditOutbox(store, self._append, self._show, waiting, self._clock)

    def close(self) -> None:
        """Delete the mirror. The worker thread must have been closed."""
        for reader in self._readers:
            reader.close()
        self._entries.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    async def _append(self, entries: Sequence[BatchRecord]) -> None:
        try:
            await append_entries(self._log, entries)
        except FencedError as error:
            raise OSError(str(error)) from error

    def _show(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries to the mirror before they have been read from the topic."""
        adding = asyncio.ensure_future(self._mirror.add(entries))
        adding.add_done_callback(lambda done: done.cancelled() or done.exception())
