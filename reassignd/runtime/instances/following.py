"""Between terms an instance follows the state topic, until it claims one (`backends.state_topic.candidate`).

It claims none while the records are not for it, while the topic cannot be read, after a term that failed,
until a pause is over, and after a hand-over, until another instance has had its chance.
"""

import logging
from collections.abc import Callable
from random import Random

from backends.state_topic.candidate import Candidate, ClaimedTerm
from backends.state_topic.claim import Claim
from backends.state_topic.history import DecodedRows, History
from backends.state_topic.log import FencedError, Timings
from backends.state_topic.state_rows import META_KEY, read_meta
from backends.state_topic.topic import StateTopicError
from common.backoff import RETRY_LATER_SECONDS
from common.clock import Clock
from common.tasks import cancel, spawn
from protocol.codec.errors import DecodeError
from protocol.record_batch import Producer
from reassignd.config.errors import CommandError
from reassignd.runtime.instances.connection import InstanceConnection

log = logging.getLogger(__name__)


class Follower:
    """Keeps the history of the topic.

    `new_claim` makes the claim of this instance, and `on_read` is called at the end of the log.

    `show_obstacle` gets a text while the topic cannot be read at the start.
    """

    def __init__(
        self,
        connection: InstanceConnection,
        topic: str,
        timings: Timings,
        clock: Clock,
        new_claim: Callable[[Claim | None, Producer], Claim],
        on_read: Callable[[], None],
        show_obstacle: Callable[[str], None],
    ) -> None:
        self._connection, self._topic, self._timings, self._clock = connection, topic, timings, clock
        self._new_claim, self._on_read, self._show_obstacle = new_claim, on_read, show_obstacle
        self.history = History()
        self.rows = DecodedRows(self.history)
        """The records of the history, decoded ahead of a term."""
        self._claims_from = self._yields_until = 0.0
        """When this instance may claim a term again: after one that failed, and the one that it has handed
        over."""
        self._meta: bytes | None = None
        """The meta row that was checked last."""
        self._foreign: str | None = None
        """Why the records are not for this instance."""
        self._unreadable: str | None = None
        """Why the log could not be read the last time."""

    @property
    def unreadable(self) -> str | None:
        """Why the log, or a row of it, cannot be read; None if it can."""
        return self._unreadable or self.rows.obstacle

    @property
    def claims_nothing(self) -> str | None:
        """Why this instance claims no term; None if it may."""
        unreadable = self._unreadable and f"the state topic cannot be read: {self._unreadable}"
        return self._foreign or unreadable or self.rows.obstacle

    async def read(self) -> None:
        """Read the topic to its end.

        Raises CommandError if it cannot be read, or is not for this instance.
        """
        self.history = await self._read_history()
        self._check_meta()
        if self._foreign is not None:
            raise CommandError(self._foreign)

    async def claim_term(self, instance: str) -> ClaimedTerm:
        """Follow until this instance has claimed a term, also over a batch that cannot be read for now.

        Raises TopicReplacedError.
        """
        self.rows = DecodedRows(self.history)
        decoding = spawn(self.rows.follow(self._clock), "decoding of rows")
        try:
            while True:
                try:
                    # A new candidate each time: what was not read is no silence of the active instance.
                    return await self._new_candidate(instance).claim_term()
                except DecodeError as error:
                    self._note_unreadable(str(error))
                await self._clock.sleep(RETRY_LATER_SECONDS)
        finally:
            await cancel(decoding)

    def pause(self, seconds: float) -> None:
        """Claim no term for so long, since one has failed."""
        self._claims_from = max(self._claims_from, self._clock.now() + seconds)

    def yield_term(self) -> None:
        """Claim no term for two sessions, unless another instance has claimed one meanwhile."""
        self._yields_until = self._clock.now() + 2 * self._timings.session

    async def wait_for_topic(self) -> None:
        """Wait until there is a topic with records again. The records in memory are kept until then."""
        while True:
            await self._clock.sleep(RETRY_LATER_SECONDS)
            self._connection.renew_log()
            try:
                history = await self._read_history()
            except (CommandError, FencedError) as error:
                log.debug("the state topic cannot be used: %s", error)
                continue
            if META_KEY in history.rows or not self.history.rows:
                self.history = history
                return

    async def _read_history(self) -> History:
        history = History()
        while True:
            try:
                fetched = await self._connection.log.fetch(history.next_offset)
                history.apply(fetched.batches)
            except DecodeError as error:
                raise CommandError(f"the state topic cannot be read: {error}") from error
            except OSError as error:
                self._show_obstacle(f"the state topic cannot be read: {error}")
                await self._clock.sleep(RETRY_LATER_SECONDS)
                continue
            if history.next_offset >= fetched.end_offset:
                return history

    def _new_candidate(self, instance: str) -> Candidate:
        return Candidate(
            self._connection.log,
            self.history,
            self._new_claim,
            self._timings,
            self._clock,
            Random(),  # noqa: S311 (spreads the claims of several instances)
            on_read=self._read,
            may_claim=lambda: self._may_claim(instance),
        )

    def _may_claim(self, instance: str) -> bool:
        now, claim = self._clock.now(), self.history.claim
        yields = claim is not None and claim.instance == instance and now < self._yields_until
        return self.claims_nothing is None and now >= self._claims_from and not yields

    def _read(self, at_end: bool) -> None:
        if at_end:
            self._unreadable = None
            self._check_meta()
            self._on_read()

    def _note_unreadable(self, reason: str) -> None:
        if reason != self._unreadable:
            log.error("this instance claims no term: the state topic cannot be read: %s", reason)
            self._unreadable = reason

    def _check_meta(self) -> None:
        """Check the meta row if it has changed.

        Records of another cluster or of a newer format are not claimed.
        """
        row = self.history.rows.get(META_KEY)
        if row == self._meta:
            return
        self._meta, self._foreign = row, None
        try:
            read_meta(self.history.rows, self._topic, self._connection.cluster_id)
        except (StateTopicError, DecodeError) as error:
            log.error("this instance claims no term: %s", error)
            self._foreign = str(error)
