"""Claims, batches, logs that are scripted or recorded, and a store on the latter."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from math import inf

from backends.state_topic.candidate import ClaimedTerm
from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import History
from backends.state_topic.log import FencedError, Fetched, Timings
from backends.state_topic.writer import StateTopicStore, TermWriter
from common.clock import RealClock
from protocol.record_batch import Batch, BatchRecord, Producer, encode_batch, read_batches

PRODUCER = Producer(7, 0)


def a_claim(term: int = 1, producer: Producer = PRODUCER, **more: object) -> Claim:
    """Return the claim of instance i`term`."""
    fields: dict[str, object] = {"replaces": None, "session_ms": 6000, "instance": f"i{term}"} | more
    return Claim(term=term, producer_id=producer.id, producer_epoch=producer.epoch, **fields)  # type: ignore[arg-type]


def row(key: str, value: str | None = "row") -> BatchRecord:
    """Return a row, or a tombstone."""
    return BatchRecord(key.encode(), None if value is None else value.encode())


class Log:
    """Makes batches at increasing offsets."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.end = 0

    def add(
        self, *records: BatchRecord, producer: Producer = PRODUCER, attributes: int = 0, sequence: int = 0
    ) -> "Log":
        """Add a batch and return the log."""
        (batch,) = read_batches(encode_batch(records, producer, sequence, 0))
        last = self.end + len(records) - 1
        header = batch.header._replace(offset=self.end, last_offset=last, attributes=attributes)
        self.batches.append(Batch(header, batch.payload))
        self.end = last + 1
        return self

    def claim(self, claim: Claim) -> "Log":
        """Add a claim and return the log."""
        return self.add(claim.encode(), producer=claim.producer)

    def marker(self, *, commit: bool, producer: Producer = PRODUCER) -> "Log":
        """End the transaction of the producer and return the log."""
        return self.add(BatchRecord(bytes((0, 0, 0, commit)), b""), producer=producer, attributes=0x30)


class ScriptedLog:
    """A `StateLog` whose appends fail as `failures` say, and else are recorded."""

    def __init__(self, *failures: Exception | None, on_append: Callable[[], None] = lambda: None) -> None:
        self.failures = list(failures)
        self.appended: list[tuple[int, list[BatchRecord], bool]] = []
        """Sequence, records, and whether the batch is part of a transaction."""
        self.calls: list[str] = []
        self._on_append = on_append

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        return Fetched((), offset)

    async def new_epoch(self) -> Producer:
        return PRODUCER

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        assert producer == PRODUCER
        self.calls.append("append")
        self._on_append()
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure
        self.appended.append((sequence, list(records), transactional))

    async def begin_transaction(self, producer: Producer) -> None:
        self.calls.append("begin")

    async def end_transaction(self, producer: Producer) -> None:
        self.calls.append("end")


FENCED = FencedError("a newer epoch has written")


class RecordedLog(ScriptedLog):
    """Keeps the batches in a log."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log().claim(a_claim())

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        self.log.add(*records, producer=producer, sequence=sequence, attributes=0x10 if transactional else 0)

    async def end_transaction(self, producer: Producer) -> None:
        self.log.marker(commit=True)

    def history(self) -> History:
        history = History()
        history.apply(self.log.batches)
        return history


@asynccontextmanager
async def opened(log: RecordedLog) -> AsyncIterator[StateTopicStore]:
    """Open the store of an instance that has read the log. At the end all commits are written."""
    timings, clock = Timings(6.0), RealClock()
    lease = Lease(clock, timings.lease)
    lease.renew(clock.now())
    writer = TermWriter(log, ClaimedTerm(a_claim(), 1, 0.0, -inf), lease, timings, clock)
    running = asyncio.create_task(writer.run())
    yield StateTopicStore(log.history(), writer)
    writer.close()
    await running
