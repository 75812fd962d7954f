"""The port to the state topic, the errors of its operations, and the times of a session.

An operation whose outcome is not known is repeated until it is answered.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from common.backoff import Backoff
from common.clock import Clock
from protocol.record_batch import Batch, BatchRecord, Producer


class FencedError(Exception):
    """The term of this producer has ended.

    A newer epoch has written, the lease has lapsed, a transaction is lost, or the topic is another.
    """


class TopicReplacedError(FencedError):
    """The topic was deleted, recreated, or has lost records: they must be read or written again."""


class Fetched(NamedTuple):
    """The answer to a fetch: whole batches in order, and the offset after the last one of the log."""

    batches: Sequence[Batch]
    end_offset: int


class StateLog(Protocol):
    """The one partition of the state topic.

    All operations raise OSError without an answer in time. After an append it is then unknown whether the
    batch is in the log; the same batch with the same sequence can be sent again, and is in the log once.
    """

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        """Return the batches from `offset`. With `wait`, waits for a short time if there are none yet."""
        ...

    async def new_epoch(self) -> Producer:
        """Raise the epoch of the transactional id.

        The transaction of an older epoch ends before this returns.
        """
        ...

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        """Write one batch, atomically. Raises FencedError if a newer epoch has written."""
        ...

    async def begin_transaction(self, producer: Producer) -> None:
        """Add the partition to a transaction. Raises FencedError."""
        ...

    async def end_transaction(self, producer: Producer) -> None:
        """Commit the transaction. Raises FencedError."""
        ...


@dataclass(frozen=True, slots=True)
class Timings:
    """The times that follow from the session, in seconds."""

    session: float = 6.0

    @property
    def beat(self) -> float:
        """An active instance writes at least this often."""
        return self.session / 6

    @property
    def lease(self) -> float:
        """How long an instance stays active after it has sent a batch that was acknowledged.

        Less than the session: a standby waits for a session after it has read the batch.
        """
        return 0.7 * self.session

    @property
    def jitter(self) -> float:
        """Most seconds that a candidate waits at random, so that rarely two claim at once."""
        return self.session / 8

    @property
    def outage(self) -> float:
        """Without an answer for this long, the silence of the active instance says nothing about it."""
        return self.session / 3


Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between attempts."""


class Answered(NamedTuple, Generic[Result]):
    """The answer, and when the attempt that was answered was sent."""

    result: Result
    sent: float


async def until_answered(clock: Clock, attempt: Callable[[], Awaitable[Result]]) -> Answered[Result]:
    """Repeat the attempt after each OSError. Other errors are raised, such as FencedError."""
    backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
    while True:
        sent = clock.now()
        try:
            return Answered(await attempt(), sent)
        except OSError:
            await clock.sleep(backoff.next_pause())
