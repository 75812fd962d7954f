"""The store in the state topic: changes become rows, and the writer of the term commits them."""

import asyncio
from collections.abc import Iterator, Sequence

from backends.state_topic.batches import Batches
from backends.state_topic.history import History
from backends.state_topic.rows import RowWriter, decode_records
from backends.state_topic.writer import TermWriter
from controller.model.cluster import Change, Record
from protocol.record_batch import BatchRecord

ENCODED_PER_SLICE = 1_000
"""Changes encoded before other tasks run."""


class StateTopicStore:
    """Implements `controller.ports.Store` for one term of this instance.

    `rows` knows the rows of the history; without it they are read at once.
    """

    def __init__(self, history: History, writer: TermWriter, rows: RowWriter | None = None) -> None:
        self._history, self._writer = history, writer
        self._rows = rows or RowWriter(history.rows.items())
        self._last: asyncio.Future[None] | None = None
        """The task of the last commit that is still being encoded."""

    def load(self) -> Iterator[Record]:
        """Yield the records of the history, which must have been read to the claim. Raises DecodeError."""
        return decode_records(self._history.rows.items())

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. Nothing is written before the commit."""

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """See `Store.commit`. Fails with StoreLostError when the term ends."""
        if len(changes) <= ENCODED_PER_SLICE and (self._last is None or self._last.done()):
            return self._writer.commit(self._encode(changes))
        self._last = asyncio.ensure_future(self._commit_in_slices(changes, self._last))
        return self._last

    async def _commit_in_slices(self, changes: Sequence[Change], before: asyncio.Future[None] | None) -> None:
        if before is not None:
            # Rows are encoded in the order of the commits, because the encoder numbers them. An earlier commit that
            # fails has ended the term; the writer refuses this one as well.
            await asyncio.wait([before])
        rows = Batches()
        for start in range(0, len(changes), ENCODED_PER_SLICE):
            rows.add(self._encode(changes[start : start + ENCODED_PER_SLICE]))
            await asyncio.sleep(0)
        await self._writer.commit(rows)

    def _encode(self, changes: Sequence[Change]) -> list[BatchRecord]:
        return [row for change in changes for row in self._rows.encode(change)]
