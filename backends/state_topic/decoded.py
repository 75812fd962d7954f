"""The records of a history, which a standby decodes as it reads them: a take-over need not wait for that."""

import asyncio
import heapq
import logging
from collections.abc import Iterator

from backends.state_topic.history import History
from backends.state_topic.rows import DecodedRow, LoadedRecord, RowWriter, decode_row, load_order
from common.clock import Clock
from controller.model.cluster import Record
from protocol.errors import DecodeError

DECODED_PER_SLICE, SORTED_PER_SLICE = 1_000, 50_000
"""Rows that are decoded, or sorted, before other tasks run."""

PAUSE_SECONDS, RETRY_SECONDS = 0.1, 1.0
"""Between two looks for rows that have changed, and after a row that cannot be decoded."""

log = logging.getLogger(__name__)


class DecodedRows:
    """Decodes the rows of `history`; one object at a time does. `take` ends it."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.obstacle: str | None = None
        """Why a row cannot be decoded, as of the last look."""
        self._rows: dict[bytes, DecodedRow] = {}
        self._writer = RowWriter()
        """It learns entries of the audit log at the end: they come and go."""
        history.changed = dict.fromkeys(history.rows)

    async def follow(self, clock: Clock) -> None:
        """Decode what changes, until cancelled. A row that cannot be decoded may change as well."""
        while True:
            try:
                await self._decode()
                self.obstacle = None
            except DecodeError as error:
                if self.obstacle is None:
                    log.error("this instance claims no term: %s", error)
                self.obstacle = str(error)
            await clock.sleep(PAUSE_SECONDS if self.obstacle is None else RETRY_SECONDS)

    async def take(self) -> tuple[RowWriter, Iterator[Record]]:
        """Return a writer that knows the rows, and the records in the order of `Store.load`. Raises DecodeError."""
        await self._decode()
        self._history.changed = None
        rows, self._rows = list(self._rows.items()), {}
        sorted_slices = []
        for start in range(0, len(rows), SORTED_PER_SLICE):
            loaded = []
            for key, row in rows[start : start + SORTED_PER_SLICE]:
                if isinstance(row, LoadedRecord):
                    loaded.append(row)
                elif row is not None:
                    self._writer.learn(key, row)
            sorted_slices.append(sorted(loaded, key=load_order))
            await asyncio.sleep(0)
        return self._writer, (row.record for row in heapq.merge(*sorted_slices, key=load_order))

    async def _decode(self) -> None:
        """Decode what has changed; other tasks run after each slice. What remains at an error is kept for later."""
        history, keys, done = self._history, list(self._history.changed or ()), 0
        history.changed = {}
        try:
            while done < len(keys):
                for key in keys[done : done + DECODED_PER_SLICE]:
                    self._decode_row(key)
                done += DECODED_PER_SLICE
                await asyncio.sleep(0)
        finally:
            history.changed.update(dict.fromkeys(keys[done:]))

    def _decode_row(self, key: bytes) -> None:
        value = self._history.rows.get(key)
        if value is None:
            self._rows.pop(key, None)
            self._writer.forget(key)
            return
        row = self._rows[key] = decode_row(key, value)
        if isinstance(row, LoadedRecord):
            self._writer.learn(key, row)
