"""The copy of the audit topic in this process, which answers the API: the topic has no indexes.

An entry can be in the topic twice: it was copied again after a crash. It can also come from the outbox of the
active instance before it comes from the topic. The first one counts.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

from backends.audit_topic.entries import entries_in_batches
from backends.sqlite.datadir import StoreError
from backends.state_topic.log import Fetched, StateLog, TopicReplacedError
from common.clock import Clock
from controller.model.audit import AuditEntry
from controller.ports import Store
from protocol.codec.errors import DecodeError

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Between two fetches without entries. Only readers of the API wait for entries."""


class EntryLog(Protocol):
    """The one partition of the audit topic. Old records are deleted, so it may begin after offset 0."""

    async def fetch(self, offset: int) -> Fetched:
        """See `StateLog.fetch`. Raises OSError, TopicReplacedError and DecodeError."""
        ...

    async def start_offset(self) -> int:
        """Return the first offset that the log still has. Raises OSError and TopicReplacedError."""
        ...


class AuditTopicLog(StateLog, EntryLog, Protocol):
    """The audit topic, to be read and written."""


class AuditMirror:
    """Adds entries to a local store, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = KnownIds()
        """Ids of entries that are stored."""
        self._adding = asyncio.Lock()

    async def add(self, entries: Iterable[AuditEntry]) -> None:
        """Add the entries that are new. Raises StoreError; they can then be added again.

        If the caller is cancelled, the entries are added nevertheless.
        """
        await asyncio.shield(self._add(list(entries)))

    async def _add(self, entries: Sequence[AuditEntry]) -> None:
        # One after the other: whether an entry is new is known once the commit of its double has ended.
        async with self._adding:
            new = {entry.id: entry for entry in reversed(entries) if entry.id not in self._known}
            if new:
                await self._store.commit(sorted(new.values()))
            for number in new:
                self._known.add(number)

    async def follow(self, entry_log: EntryLog, clock: Clock) -> None:
        """Add the entries of the topic until cancelled.

        Raises TopicReplacedError if the topic is another one.

        A batch that cannot be read is read again: it may be deleted. One that cannot be stored, too.
        """
        offset, failure = -1, ""
        while True:
            idle = True
            try:
                if offset < 0:
                    offset = await entry_log.start_offset()
                offset, idle = await self._read(entry_log, offset)
                failure = ""
            except (DecodeError, StoreError) as error:
                if str(error) != failure:
                    failure = str(error)
                    verb = "copied" if isinstance(error, StoreError) else "read"
                    log.warning("the audit topic cannot be %s: %s; trying again", verb, error)
            except OSError:
                pass  # The log of the topic has named the reason.
            if idle:
                await clock.sleep(PAUSE_SECONDS)

    async def _read(self, entry_log: EntryLog, offset: int) -> tuple[int, bool]:
        """Read once; return the next offset, and whether nothing is left to read."""
        try:
            fetched = await entry_log.fetch(offset)
        except TopicReplacedError:
            start = await entry_log.start_offset()
            if start <= offset:
                raise
            # The broker has deleted what this instance had not read yet.
            log.warning("the audit topic begins at offset %d, and was read to %d only", start, offset)
            return start, False
        entries, unreadable = entries_in_batches(fetched.batches)
        if unreadable:
            log.warning("the audit topic has %d records that are no entries; they are skipped", unreadable)
        await self.add(entries)
        offset = max((batch.header.last_offset + 1 for batch in fetched.batches), default=offset)
        return offset, offset >= fetched.end_offset


class KnownIds:
    """Remembers ids. A million consecutive ids take one range."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Inclusive. Ranges neither overlap nor touch."""

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number)
        return at > 0 and number <= self._ends[at - 1]

    def add(self, number: int) -> bool:
        """Add the id; return whether it is new."""
        at = bisect_right(self._starts, number)
        if number in self:
            return False
        joins_left = at > 0 and self._ends[at - 1] == number - 1
        joins_right = at < len(self._starts) and self._starts[at] == number + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            self._starts.pop(at)
        elif joins_left:
            self._ends[at - 1] = number
        elif joins_right:
            self._starts[at] = number
        else:
            self._starts.insert(at, number)
            self._ends.insert(at, number)
        return True
