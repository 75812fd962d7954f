"""The outbox: entries in the batches of their decisions in the state topic are copied to the audit topic.

So an entry is durable with its decision, and the state topic, which each instance holds in memory, keeps few
entries. A copied entry is deleted from the state topic a while later. After a crash it is copied again;
readers skip it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice

from backends.audit_topic.entries import encode_entry
from common.backoff import RETRY_LATER_SECONDS
from common.clock import Clock
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Record
from controller.ports import Store, StoreLostError
from protocol.record_batch import BatchRecord

log = logging.getLogger(__name__)

COPIED_TOGETHER = 100
"""Entries of one batch, at most; an entry has a few kilobytes at most."""
KEPT = 100
"""Copied entries that stay in the state topic, at most, before they are deleted together."""
Append = Callable[[Sequence[BatchRecord]], Awaitable[None]]
"""Writes a batch to the audit topic. Raises OSError."""


class AuditOutbox:
    """A `Store` of one term: it commits to `store`, and copies the entries of completed commits by `append`.

    `waiting` are the entries of earlier terms that may not have been copied. `show` gets each entry that is
    durable.
    """

    def __init__(
        self,
        store: Store,
        append: Append,
        show: Callable[[Sequence[AuditEntry]], None],
        waiting: Iterable[AuditEntry],
        clock: Clock,
    ) -> None:
        self._store, self._append, self._show, self._clock = store, append, show, clock
        self._waiting = deque(waiting)
        self._wake = asyncio.Event()
        self._copied = 0
        """Entries that were copied since the last deletion."""

    @property
    def backlog(self) -> int:
        """Number of entries that are not in the audit topic yet."""
        return len(self._waiting)

    def load(self) -> Iterable[Record]:
        """See `Store.load`."""
        return self._store.load()

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`."""
        self._store.prepare(changes)

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """See `Store.commit`."""
        done = asyncio.ensure_future(self._store.commit(changes))
        entries = [change for change in changes if isinstance(change, AuditEntry)]
        if entries:
            done.add_done_callback(lambda future: self._committed(future, entries))
        return done

    async def run(self) -> None:
        """Copy until cancelled, or until the term ends."""
        while True:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            try:
                await self.copy()
            except OSError as error:
                # The log of the topic has named the reason.
                log.debug("%d entries of the audit log wait: %s", len(self._waiting), error)
                await self._clock.sleep(RETRY_LATER_SECONDS)
            except StoreLostError:
                return

    async def copy(self) -> None:
        """Copy what waits. Raises OSError and StoreLostError."""
        while self._waiting:
            some = list(islice(self._waiting, COPIED_TOGETHER))
            await self._append([encode_entry(entry) for entry in some])
            for _ in some:
                self._waiting.popleft()
            self._copied += len(some)
            if self._copied > KEPT:
                # The newest entry stays: the ids of the next term continue after it.
                await self._store.commit([AuditTrim(some[-1].id)])
                self._copied = 0

    def _committed(self, done: "asyncio.Future[None]", entries: Sequence[AuditEntry]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        self._waiting.extend(entries)
        self._show(entries)
        self._wake.set()
