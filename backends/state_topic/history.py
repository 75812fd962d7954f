"""The rows of the state topic after the order rule.

After a claim only the batches of its producer are valid, until the next claim. All instances read the same
log, so they drop the same batches. A transaction is valid from its commit marker on; its batches are held
until then.

Compaction does not know the rule: it keeps the newest value of a key, also one of a dropped batch, and it
removes old claims. Therefore the active instance writes its own value of each key of a dropped batch again
(`take_repairs`), and a reader that has seen no claim yet accepts all batches.
"""

import asyncio
import heapq
import logging
from collections.abc import Iterable, Iterator, Mapping

from backends.state_topic.claim import CLAIM_KEY, Claim, decode_claim
from backends.state_topic.state_rows import DecodedRow, LoadedRecord, RowWriter, decode_row, load_order
from common.clock import Clock
from controller.model.cluster import Record
from protocol.codec.errors import DecodeError
from protocol.record_batch import Batch, BatchRecord, Producer

log = logging.getLogger(__name__)

Values = Mapping[bytes | None, bytes | None]
"""Values by key. A value of None deletes the row."""

SEQUENCES = 2**31
"""Sequences of a producer begin with 0 again after this number."""


class History:
    """Applies batches in order. `rows` has the values by key, without the claim."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.changed: dict[bytes, None] | None = None
        """Keys of rows that have changed since they were decoded (`DecodedRows`); None if nobody decodes
        them."""
        self.claim: Claim | None = None
        self.last_term = 0
        """The term of the claim that the present one replaced."""
        self.next_offset = 0
        """The offset to read from."""
        self.end_offset = 0
        """The end of the log as of the last fetch."""
        self.foreign_batches = 0
        """Number of batches that the order rule has dropped."""
        self._sequence: int | None = None
        self._open: dict[int, dict[bytes | None, bytes | None]] = {}
        """Rows of transactions without a marker, by producer id."""
        self._repairs: set[bytes] = set()

    @property
    def lag(self) -> int:
        """Offsets of the log that were not read yet."""
        return max(0, self.end_offset - self.next_offset)

    @property
    def next_sequence(self) -> int | None:
        """The sequence after the last batch of the claim's producer; None before its first one."""
        return self._sequence

    def apply(self, batches: Iterable[Batch]) -> None:
        """Apply the batches. Raises DecodeError; everything before the unreadable batch is applied."""
        for batch in batches:
            if batch.header.last_offset >= self.next_offset:
                self._apply_batch(batch)
                self.next_offset = batch.header.last_offset + 1

    def repairs_after(self, sequence: int) -> list[BatchRecord] | None:
        """Take the repairs when all batches of the active instance before `sequence` were read.

        Else return None.

        Earlier, the instance may have written newer values of the same keys than those that were read.
        """
        if not self._repairs:
            return []
        return self.take_repairs() if self._sequence == sequence and not self._open else None

    def take_repairs(self) -> list[BatchRecord]:
        """Return the valid rows of the keys of dropped batches, and forget these keys.

        A key without a valid row gives a tombstone.
        """
        keys, self._repairs = self._repairs, set()
        claim = self.claim.encode() if self.claim else BatchRecord(CLAIM_KEY, None)
        return [claim if key == CLAIM_KEY else BatchRecord(key, self.rows.get(key)) for key in sorted(keys)]

    def _apply_batch(self, batch: Batch) -> None:
        header = batch.header
        if header.control:
            held = self._open.pop(header.producer.id, {})
            # It is a plan, or a claim again, which keeps the transactional id from expiring.
            if held and batch.commits() and not self._claims(header.producer, held):
                self._put(held)
            return
        self._apply_rows(batch)
        if self.claim is not None and header.producer == self.claim.producer:
            self._sequence = (header.sequence + header.last_offset - header.offset + 1) % SEQUENCES

    def _apply_rows(self, batch: Batch) -> None:
        header = batch.header
        foreign = self.claim is not None and header.producer != self.claim.producer
        try:
            rows = {record.key: record.value for _, record in batch.records()}
        except DecodeError as error:
            if not foreign:
                raise
            self._drop_unreadable(error)
            return
        if not header.transactional and self._claims(header.producer, rows):
            return
        if foreign:
            self._drop(rows)
        elif header.transactional:
            self._open.setdefault(header.producer.id, {}).update(rows)
        else:
            self._put(rows)

    def _claims(self, producer: Producer, rows: Values) -> bool:
        """Apply a claim; return whether the rows are one."""
        if len(rows) != 1 or CLAIM_KEY not in rows:
            return False
        claim, last = decode_claim(rows[CLAIM_KEY] or b""), self.claim
        if claim is None or claim.producer != producer or not claim.follows(last):
            return False
        if last is not None and claim.producer != last.producer:
            for held in self._open.values():
                self._drop(held)
            self._open.clear()
            self.last_term = last.term
        self.claim = claim
        return True

    def _put(self, rows: Values) -> None:
        self._repairs -= rows.keys()
        for key, value in rows.items():
            if key is None or key == CLAIM_KEY:
                raise DecodeError("a row of the state topic has no key, or that of the claim")
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value
            if self.changed is not None:
                self.changed[key] = None

    def _drop(self, rows: Values) -> None:
        self.foreign_batches += 1
        self._repairs.update(key for key in rows if key is not None)

    def _drop_unreadable(self, error: DecodeError) -> None:
        """Drop a batch whose keys are unknown: any row may have to be repaired."""
        log.warning("another program has written to the state topic, and its batch is dropped: %s", error)
        self.foreign_batches += 1
        self._repairs.update((*self.rows, CLAIM_KEY))


DECODED_PER_SLICE, SORTED_PER_SLICE = 1_000, 50_000
"""Rows that are decoded, or sorted, before other tasks run."""

PAUSE_SECONDS, RETRY_SECONDS = 0.1, 1.0
"""Between two looks for rows that have changed, and after a row that cannot be decoded."""


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
        """Return a writer that knows the rows, and the records in the order of `Store.load`.

        Raises DecodeError.
        """
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
        """Decode what has changed; other tasks run after each slice.

        What remains at an error is kept for later.
        """
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
