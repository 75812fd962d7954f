"""A standby: it follows the log, and claims the term when the active instance is silent or has released it.

The claim is the moment of fencing, not the new epoch: the leader of the partition refuses older epochs from
the first batch of a newer one on. What an earlier instance writes before the claim is read by all, so it is
valid.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from random import Random

from msgspec import structs

from backends.state_topic.claim import Claim
from backends.state_topic.history import History
from backends.state_topic.log import FencedError, Fetched, StateLog, Timings, until_answered
from common.clock import Clock
from protocol.codec.errors import DecodeError
from protocol.record_batch import Producer

FIRST_SEQUENCE = 1
"""Of the first batch after the claim, which has sequence 0."""

RETRY_SECONDS = 0.1
"""Between fetches without an answer or without batches."""


@dataclass(frozen=True, slots=True)
class ClaimedTerm:
    """A claim of this instance that the log has accepted, and that has been read to its offset."""

    claim: Claim
    sequence: int
    """Of the first batch after the claim."""
    claimed: float
    """When the claim was sent, which begins the lease."""
    steps_from: float
    """Steps wait until then. Later than now if another instance wrote between the last fetch and the claim:
    it may have believed that it was active."""


class Candidate:
    """Follows the log with `history` and claims the term.

    `new_claim` makes the claim of this instance after the last claim, for its producer. `on_read` is called
    after each answered fetch; the argument tells whether the end of the log was read. No term is claimed
    while `may_claim` returns False.
    """

    def __init__(
        self,
        log: StateLog,
        history: History,
        new_claim: Callable[[Claim | None, Producer], Claim],
        timings: Timings,
        clock: Clock,
        random: Random,
        *,
        on_read: Callable[[bool], None] = lambda _: None,
        may_claim: Callable[[], bool] = lambda: True,
    ) -> None:
        self._log, self._history, self._new_claim = log, history, new_claim
        self._timings, self._clock, self._random = timings, clock, random
        self._on_read, self._may_claim = on_read, may_claim
        self._answered = -inf
        """When the last fetch was answered."""
        self._heard = inf
        """From when on the silence of the active instance counts; inf before the end of the log was read."""

    async def claim_term(self) -> ClaimedTerm:
        """Follow until the term is this instance's. Raises DecodeError if the log cannot be read."""
        while True:
            await self._follow_until_silent()
            if await self._still_silent():
                try:
                    term = await self._claim()
                except FencedError:
                    term = None
                if term is not None:
                    return term
                self._heard = self._clock.now()

    async def _follow_until_silent(self) -> None:
        while True:
            if await self._read() is None:
                await self._clock.sleep(RETRY_SECONDS)
            elif self._silent:
                return

    @property
    def _released(self) -> bool:
        claim = self._history.claim
        return claim is None or claim.released

    @property
    def _silent(self) -> bool:
        if not self._may_claim():
            return False
        silence = self._clock.now() - self._heard
        return silence >= 0 if self._released else silence > self._session

    @property
    def _session(self) -> float:
        """The longer session of this instance and of the active one, whose lease depends on its own."""
        claim = self._history.claim
        return max(self._timings.session, claim.session_ms / 1000 if claim else 0.0)

    async def _read(self, *, wait: bool = True) -> Fetched | None:
        """Read once; return None without an answer."""
        history, claim = self._history, self._history.claim
        try:
            fetched = await self._log.fetch(history.next_offset, wait=wait)
        except OSError:
            return None
        now = self._clock.now()
        if now - self._answered > self._timings.outage and self._heard < inf:
            # The active instance may have been cut off as well. It is given a part of a session to write
            # first.
            self._heard = max(self._heard, now - self._timings.session * 2 / 3)
        self._answered = now
        history.end_offset = fetched.end_offset
        history.apply(fetched.batches)
        producer = claim.producer if claim else None
        if history.claim != claim or any(batch.header.producer == producer for batch in fetched.batches):
            self._heard = now
        if self._heard == inf and history.next_offset >= fetched.end_offset:
            self._heard = now
        self._on_read(history.next_offset >= fetched.end_offset)
        return fetched

    async def _still_silent(self) -> bool:
        """Wait for a random time and read to the end; return whether nothing was heard meanwhile."""
        heard = self._heard
        await self._clock.sleep(self._random.uniform(0, self._timings.jitter / (8 if self._released else 1)))
        while (fetched := await self._read(wait=False)) is not None and self._heard == heard:
            if self._history.next_offset >= fetched.end_offset:
                return True
        return False

    async def _claim(self) -> ClaimedTerm | None:
        """Claim the term; return None if another instance claims it later. Raises FencedError."""
        history = self._history
        looked, last = history.next_offset, history.claim
        producer = (await until_answered(self._clock, self._log.new_epoch)).result
        claim = self._new_claim(last, producer)
        sent = await self._append(claim, 0)
        steps_from = await self._read_claim(claim, looked)
        if steps_from is None:
            return None
        if history.last_term >= claim.term:
            # Another instance has claimed the same term just before. Terms must increase: brokers compare
            # them.
            claim = structs.replace(claim, term=history.last_term + 1)
            sent = await self._append(claim, FIRST_SEQUENCE)
            return ClaimedTerm(claim, FIRST_SEQUENCE + 1, sent, steps_from)
        return ClaimedTerm(claim, FIRST_SEQUENCE, sent, steps_from)

    async def _read_claim(self, claim: Claim, looked: int) -> float | None:
        """Read to the claim.

        Return from when on steps may be sent; None if the claim is not the valid one.
        """
        history, steps_from = self._history, -inf
        until = self._clock.now() + self._timings.session
        while self._clock.now() < until:
            fetched = await self._read()
            if fetched is None or not fetched.batches:
                await self._clock.sleep(RETRY_SECONDS)
                continue
            data = [header for header, _ in fetched.batches if header.offset >= looked and not header.control]
            if any(header.producer != claim.producer for header in data):
                steps_from = self._clock.now() + self._timings.session
            if any(header.producer == claim.producer for header in data):
                return steps_from if history.claim == claim else None
        return None

    async def _append(self, claim: Claim, sequence: int) -> float:
        """Write the claim; return when the attempt that was answered was sent."""
        records = [claim.encode()]
        answered = await until_answered(
            self._clock, lambda: self._log.append(records, claim.producer, sequence)
        )
        return answered.sent


log = logging.getLogger(__name__)


async def read_during_term(
    log_: StateLog, history: History, clock: Clock, on_read: Callable[[bool], None]
) -> None:
    """Apply what is written, until cancelled. `on_read` is that of `Candidate`. Raises TopicReplacedError.

    Ends at a batch that cannot be read: the active instance needs only what it has written itself.
    """
    while True:
        try:
            fetched = await log_.fetch(history.next_offset)
            history.end_offset = fetched.end_offset
            for batch in fetched.batches:
                history.apply([batch])
                await asyncio.sleep(0)
        except OSError:
            await clock.sleep(RETRY_SECONDS)
            continue
        except DecodeError as error:
            log.error("the state topic cannot be read, no other instance can take over: %s", error)
            return
        if fetched.batches:
            on_read(history.next_offset >= fetched.end_offset)
