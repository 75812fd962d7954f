"""The copy of the audit topic in this process, which answers the API: the topic has no indexes.

An entry can be in the topic twice: it was copied again after a crash. It can also come from the outbox of the
active instance before it comes from the topic. The first one counts.
"""

import logging
from bisect import bisect_right
from collections.abc import Iterable
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

    async def add(self, entries: Iterable[AuditEntry]) -> None:
        """Add the entries that are new. Raises StoreError; they can then be added again."""
        new = sorted(entry for entry in entries if self._known.add(entry.id))
        if not new:
            return
        try:
            await self._store.commit(new)
        except StoreError:
            for entry in new:
                self._known.remove(entry.id)
            raise

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
                    log.warning("the audit topic cannot be read: %s; trying again", error)
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

    def add(self, number: int) -> bool:
        """Add the id; return whether it is new."""
        at = bisect_right(self._starts, number)
        if at and number <= self._ends[at - 1]:
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

    def remove(self, number: int) -> None:
        """Remove the id, which is known."""
        at = bisect_right(self._starts, number) - 1
        start, end = self._starts[at], self._ends[at]
        left = [(first, last) for first, last in ((start, number - 1), (number + 1, end)) if first <= last]
        self._starts[at : at + 1] = [first for first, _ in left]
        self._ends[at : at + 1] = [last for _, last in left]
