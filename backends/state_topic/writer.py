"""The writer of the active instance: commits, heartbeats and the lease.

The store, whose changes it commits, is here too.

The rows of a large commit are divided into record batches, so that they can be prepared in slices.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from backends.state_topic.candidate import ClaimedTerm
from backends.state_topic.claim import CLAIM_KEY, Lease
from backends.state_topic.history import SEQUENCES, History
from backends.state_topic.log import FencedError, StateLog, Timings, until_answered
from backends.state_topic.state_rows import RowWriter, decode_records
from common.clock import Clock, within
from controller.model.cluster import Change, Record
from controller.ports import StoreLostError
from protocol.record_batch import BatchRecord

MAX_BATCH_BYTES = 200_000
"""Decoding a batch holds the event loop of a reader. Less than Kafka's default of `max.message.bytes`."""

RECORD_OVERHEAD = 20
"""Bytes of a record besides key and value, at most."""


class Batches:
    """The rows of a commit in batches of at most MAX_BATCH_BYTES; a longer row is alone."""

    def __init__(self, rows: Iterable[BatchRecord] = ()) -> None:
        self.batches: list[list[BatchRecord]] = []
        self.last_size = 0
        """Bytes of the last batch."""
        self.add(rows)

    def add(self, rows: Iterable[BatchRecord]) -> None:
        """Append rows."""
        for row in rows:
            key, value = row
            size = len(key or b"") + len(value or b"") + RECORD_OVERHEAD
            if not self.batches or self.last_size + size > MAX_BATCH_BYTES:
                self.batches.append([])
                self.last_size = 0
            self.batches[-1].append(row)
            self.last_size += size

    def join(self, other: "Batches") -> bool:
        """Append the rows of `other` if all fit into one batch; return whether they do."""
        if len(self.batches) > 1 or len(other.batches) > 1:
            return False
        if self.batches and other.batches and self.last_size + other.last_size > MAX_BATCH_BYTES:
            return False
        for batch in other.batches:
            self.add(batch)
        return True


TRANSACTION_SECONDS = 3600.0
"""A transactional beat is written this often: only transactions keep the transactional id from expiring."""

REPAIR_PAUSE_SECONDS = 0.01
"""Between two checks whether all own batches were read, which repairs wait for."""

log = logging.getLogger(__name__)

Repairs = Callable[[int], Sequence[BatchRecord] | None]
"""Returns the rows to write again when all batches before a sequence were read, else None
(`History.repairs_after`)."""


def _no_repairs(_: int) -> Sequence[BatchRecord]:
    return ()


class _Commit(NamedTuple):
    rows: Batches
    done: asyncio.Future[None]


@dataclass(slots=True)
class WriteCounts:
    """Batches that were acknowledged, and the seconds that they took, attempts without an answer included."""

    batches: int = 0
    seconds: float = 0.0


class TermWriter:
    """Writes under the claim of a term. A batch with the claim again is a beat: it only extends the lease.

    `repairs` gives the rows that another client has overwritten.
    """

    def __init__(
        self,
        log: StateLog,
        term: ClaimedTerm,
        lease: Lease,
        timings: Timings,
        clock: Clock,
        repairs: Repairs = _no_repairs,
        counts: WriteCounts | None = None,
    ) -> None:
        self._log, self._sequence, self._repairs = log, term.sequence, repairs
        self._claim, self._counts = term.claim, counts or WriteCounts()
        self._producer, self._beat = term.claim.producer, term.claim.encode()
        self._lease, self._timings, self._clock = lease, timings, clock
        self._waiting: deque[_Commit] = deque()
        self._wake = asyncio.Event()
        self._closing = self._releases = False
        self._lost: StoreLostError | None = None
        self._transaction_at = clock.now()

    def commit(self, rows: Batches | Sequence[BatchRecord]) -> asyncio.Future[None]:
        """Queue the rows; the future completes when they are in the log, all or none.

        It fails with StoreLostError when another instance has claimed the term.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._lost is not None or self._closing:
            done.set_exception(self._lost or StoreLostError("the term of this instance has ended"))
            return done
        self._waiting.append(_Commit(rows if isinstance(rows, Batches) else Batches(rows), done))
        self._wake.set()
        return done

    async def run(self) -> None:
        """Write until `close` and all commits are written. Raises StoreLostError when the term is lost.

        However it ends, the commits that are not written fail.
        """
        try:
            while not (self._closing and not self._waiting):
                if not self._waiting and not await within(self._clock, self._timings.beat, self._wake):
                    await self._write_beat()
                self._wake.clear()
                await self._write_repairs()
                while self._waiting:
                    await self._write_group(self._next_group())
                    await self._write_repairs()
            if self._releases:
                await self._append([structs.replace(self._claim, released=True).encode()])
        except FencedError as error:
            self._lost = StoreLostError(str(error))
            raise self._lost from error
        except BaseException as error:
            reason = "was stopped" if isinstance(error, asyncio.CancelledError) else f"has failed: {error!r}"
            self._lost = StoreLostError(f"the writer of the state topic {reason}")
            raise
        finally:
            if self._lost is not None:
                self._lease.end()
                self._fail_all(self._lost)

    def close(self, *, release: bool = False) -> None:
        """Accept no more commits; `run` ends when the waiting ones are written.

        With `release`, the last batch says that the term has ended, so a standby need not wait for a session.
        """
        self._closing, self._releases = True, release
        self._wake.set()

    def _next_group(self) -> list[_Commit]:
        """Take the commits of the next batch, whose rows the first one gets; one that is larger is alone."""
        group = [self._waiting.popleft()]
        while self._waiting and group[0].rows.join(self._waiting[0].rows):
            group.append(self._waiting.popleft())
        return group

    async def _write_group(self, group: list[_Commit]) -> None:
        batches = group[0].rows.batches
        try:
            if len(batches) > 1:
                await self._write_transaction(batches)
            else:
                for batch in batches:
                    await self._append(batch)
        except BaseException:
            self._waiting.extendleft(reversed(group))
            raise
        for commit in group:
            if not commit.done.done():
                commit.done.set_result(None)

    async def _write_repairs(self) -> None:
        """Write the rows again that another client has overwritten. Own commits wait until they are known."""
        until = self._clock.now() + self._timings.beat
        while (rows := self._repairs(self._sequence)) is None and self._clock.now() < until:
            await self._clock.sleep(REPAIR_PAUSE_SECONDS)
        if not rows:
            return
        log.warning(
            "another client has written to the state topic: %d of its keys are written again", len(rows)
        )
        if plain := [row for row in rows if row.key != CLAIM_KEY]:
            for batch in Batches(plain).batches:
                await self._append(batch)
        if len(plain) < len(rows):
            await self._append([self._beat])

    async def _write_beat(self) -> None:
        if self._clock.now() - self._transaction_at >= TRANSACTION_SECONDS:
            await self._write_transaction([[self._beat]])
        else:
            await self._append([self._beat])

    async def _write_transaction(self, batches: Sequence[Sequence[BatchRecord]]) -> None:
        await until_answered(self._clock, lambda: self._log.begin_transaction(self._producer))
        for batch in batches:
            await self._append(batch, transactional=True)
        await until_answered(self._clock, lambda: self._log.end_transaction(self._producer))
        self._transaction_at = self._clock.now()

    async def _append(self, records: Sequence[BatchRecord], *, transactional: bool = False) -> None:
        sequence, started = self._sequence, self._clock.now()
        self._sequence = (sequence + len(records)) % SEQUENCES
        answered = await until_answered(
            self._clock,
            lambda: self._log.append(records, self._producer, sequence, transactional=transactional),
        )
        self._counts.batches += 1
        self._counts.seconds += self._clock.now() - started
        if not self._lease.valid:
            raise FencedError("the state topic did not answer within the lease")
        # Only batches extend the lease, because only batches are read by standbys.
        self._lease.renew(answered.sent)

    def _fail_all(self, reason: StoreLostError) -> None:
        for commit in self._waiting:
            if not commit.done.done():
                commit.done.set_exception(reason)
        self._waiting.clear()


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
            # Rows are encoded in the order of the commits, because the encoder numbers them. An earlier
            # commit that fails has ended the term; the writer refuses this one as well.
            await asyncio.wait([before])
        rows = Batches()
        for start in range(0, len(changes), ENCODED_PER_SLICE):
            rows.add(self._encode(changes[start : start + ENCODED_PER_SLICE]))
            await asyncio.sleep(0)
        await self._writer.commit(rows)

    def _encode(self, changes: Sequence[Change]) -> list[BatchRecord]:
        return [row for change in changes for row in self._rows.encode(change)]
