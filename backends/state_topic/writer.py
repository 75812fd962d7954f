"""The writer of the active instance: commits, beats and the lease.

What waits goes into the next batch; one batch is in flight. A commit that does not fit into a batch is a transaction.
An attempt without an answer is repeated with the same sequence, so the batch is in the log once.

A term ends in two cases. The broker refuses a batch, because a newer epoch has written. Or a batch is answered after
the lease has lapsed: a standby may have seen silence for a session meanwhile, and its claim may come at any time. If
the coordinator has given it another producer id, the broker would refuse neither of the two.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from backends.state_topic.attempts import until_answered
from backends.state_topic.batches import Batches
from backends.state_topic.candidate import Term
from backends.state_topic.claim import CLAIM_KEY
from backends.state_topic.history import SEQUENCES
from backends.state_topic.lease import Lease
from backends.state_topic.ports import FencedError, StateLog, Timings
from common.clock import Clock, within
from controller.ports import StoreLostError
from protocol.record_batch import BatchRecord

TRANSACTION_SECONDS = 3600.0
"""A transactional beat is written this often: only transactions keep the transactional id from expiring."""

REPAIR_PAUSE_SECONDS = 0.01
"""Between two looks whether all own batches were read, which repairs wait for."""

log = logging.getLogger(__name__)

Repairs = Callable[[int], Sequence[BatchRecord] | None]
"""Returns the rows to write again when all batches before a sequence were read, else None (`History.repairs_after`)."""


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
        term: Term,
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
        """Write until `close` and all commits are written. Raises StoreLostError when the term is lost."""
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
            self._lease.end()
            self._fail_all()
            raise self._lost from error

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
        except FencedError:
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

    def _fail_all(self) -> None:
        for commit in self._waiting:
            if not commit.done.done():
                commit.done.set_exception(self._lost or StoreLostError())
        self._waiting.clear()
