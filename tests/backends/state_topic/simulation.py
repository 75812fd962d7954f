"""Several instances on one simulated log.

Requests and answers are lost or late, and processes pause or are killed.

Everything that an instance awaits is an operation of the simulation, which completes them in a random order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Generic, TypeVar

from backends.state_topic.candidate import Candidate, ClaimedTerm
from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import History
from backends.state_topic.log import FencedError, Fetched, Timings
from backends.state_topic.writer import TermWriter
from controller.ports import StoreLostError
from protocol.record_batch import Batch, BatchHeader, BatchRecord, Producer, encode_batch, read_batches

Result = TypeVar("Result")

TIMINGS = Timings(session=6.0)
PRODUCER_ID = 7
MARKER = {True: b"\0\0\0\1", False: b"\0\0\0\0"}


class Partition:
    """The log, its leader's checks of epochs and sequences, and the transaction coordinator."""

    def __init__(self, random: Random, forgets: float) -> None:
        self.batches: list[Batch] = []
        self.end = 0
        self._random, self._forgets = random, forgets
        self._newest = Producer(PRODUCER_ID, -1)
        """The producer that the coordinator knows."""
        self._written: dict[int, tuple[int, int]] = {}
        """The newest epoch and the next sequence, by producer id."""
        self._open = False

    def fetch(self, offset: int) -> Fetched:
        return Fetched([batch for batch in self.batches if batch.header.offset >= offset], self.end)

    def new_epoch(self) -> Producer:
        number, epoch = self._newest
        forgotten = not self._open and self._random.random() < self._forgets
        self._newest = Producer(number + 1, 0) if forgotten else Producer(number, epoch + 1)
        if self._open:
            self._written[number] = (epoch + 1, 0)
            self._mark(commit=False)
        return self._newest

    def append(
        self, records: Sequence[BatchRecord], producer: Producer, sequence: int, transactional: bool
    ) -> None:
        epoch, following = self._written.get(producer.id, (-1, 0))
        if producer.epoch < epoch:
            raise FencedError("an older epoch")
        if producer.epoch > epoch:
            assert sequence == 0, "the first batch of an epoch has sequence 0"
            following = 0
        if sequence < following:
            return
        assert sequence == following, "no batch is skipped"
        self._written[producer.id] = (producer.epoch, sequence + len(records))
        (batch,) = read_batches(encode_batch(records, producer, sequence, 0, transactional))
        self._add(batch)

    def begin(self, producer: Producer) -> None:
        self._check(producer)
        self._open = True

    def commit(self, producer: Producer) -> None:
        self._check(producer)
        if self._open:
            self._mark(commit=True)

    def _check(self, producer: Producer) -> None:
        if producer != self._newest:
            raise FencedError("an older epoch")

    def _mark(self, *, commit: bool) -> None:
        self._open = False
        (batch,) = read_batches(encode_batch([BatchRecord(MARKER[commit], b"")], self._newest, -1, 0))
        self._add(Batch(batch.header._replace(attributes=0x30), batch.payload))

    def _add(self, batch: Batch) -> None:
        header: BatchHeader = batch.header
        last = self.end + header.size - 1
        self.batches.append(Batch(header._replace(offset=self.end, last_offset=last), batch.payload))
        self.end = last + 1


@dataclass(eq=False)
class Operation(Generic[Result]):
    """A request or an answer that has not arrived yet, or a sleep that lasts until `due`."""

    owner: "Instance"
    act: Callable[[], Result]
    due: float
    answer: asyncio.Future[Result]
    result: Callable[[], Result] | None = None
    """Gives the result or raises the failure; None before the request has arrived."""


@dataclass(eq=False)
class Instance:
    """One process: it claims terms and, while it is active, commits rows and sends steps."""

    simulation: "Simulation"
    name: str
    paused_until: float = -inf
    lease: Lease | None = None
    term: ClaimedTerm | None = None
    checks_lease: bool = True
    tasks: Sequence[asyncio.Task[None]] = ()

    def now(self) -> float:
        """The time, which is the same for all (`Clock`)."""
        return self.simulation.time

    async def sleep(self, seconds: float) -> None:
        """Sleep for simulated seconds (`Clock`)."""
        await self.simulation.operation(self, lambda: None, self.simulation.time + seconds)

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        return await self.simulation.operation(self, lambda: self.simulation.log.fetch(offset))

    async def new_epoch(self) -> Producer:
        return await self.simulation.operation(self, self.simulation.log.new_epoch)

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        log = self.simulation.log
        await self.simulation.operation(self, lambda: log.append(records, producer, sequence, transactional))

    async def begin_transaction(self, producer: Producer) -> None:
        await self.simulation.operation(self, lambda: self.simulation.log.begin(producer))

    async def end_transaction(self, producer: Producer) -> None:
        await self.simulation.operation(self, lambda: self.simulation.log.commit(producer))

    @property
    def may_step(self) -> bool:
        """Whether the instance may send steps now."""
        if self.lease is None or self.term is None:
            return False
        return (self.lease.valid or not self.checks_lease) and self.now() >= self.term.steps_from

    async def run(self) -> None:
        history = History()
        while True:
            candidate = Candidate(self, history, self._new_claim, TIMINGS, self, self.simulation.random)
            term = await candidate.claim_term()
            lease = Lease(self, TIMINGS.lease)
            lease.renew(term.claimed)
            writer = TermWriter(self, term, lease, TIMINGS, self)
            self.lease, self.term = lease, term
            self.simulation.claims += 1
            self.tasks = [work := asyncio.create_task(self._work(writer))]
            with suppress(StoreLostError):
                await writer.run()
            work.cancel()
            self.lease = self.term = None

    async def _work(self, writer: TermWriter) -> None:
        while True:
            rows = [
                self.simulation.new_row(self.name) for _ in range(self.simulation.random.choice((1, 1, 3)))
            ]
            try:
                await writer.commit(rows)
            except StoreLostError:
                return
            if self.lease is not None and (self.lease.valid or not self.checks_lease):
                self.simulation.acknowledged += rows
            await self.sleep(self.simulation.random.uniform(0, 2))

    def _new_claim(self, last: Claim | None, producer: Producer) -> Claim:
        return Claim(
            instance=self.name,
            term=last.term + 1 if last else 1,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            replaces=last.producer if last else None,
            session_ms=6000,
        )


class Simulation:
    """The log, the instances and the time. `random` chooses the next action."""

    def __init__(
        self, random: Random, instances: int = 3, *, checks_lease: bool = True, forgets: float = 0.0
    ) -> None:
        self.random, self.time, self.log = random, 0.0, Partition(random, forgets)
        self.instances = [Instance(self, f"i{n}", checks_lease=checks_lease) for n in range(instances)]
        self.acknowledged: list[BatchRecord] = []
        self.claims = 0
        self.overlaps = 0
        """How often two instances could send steps at the same time."""
        self._operations: list[Operation[object]] = []
        self._rows = 0
        self._runs: dict[Instance, asyncio.Task[None]] = {}

    def new_row(self, name: str) -> BatchRecord:
        self._rows += 1
        return BatchRecord(f"{name}-{self._rows}".encode(), b"row")

    def operation(self, owner: Instance, act: Callable[[], Result], due: float = -inf) -> Awaitable[Result]:
        """Return an awaitable that completes when the simulation lets the operation complete."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        operation = Operation(owner, act, due, answer)
        self._operations.append(operation)  # type: ignore[arg-type] # the list holds operations of any result
        return answer

    async def run(self, actions: int) -> None:
        """Let the instances run for that many random actions."""
        self._runs = {instance: asyncio.create_task(instance.run()) for instance in self.instances}
        try:
            for _ in range(actions):
                await settle()
                for run in self._runs.values():
                    assert not run.done(), run.exception()
                self.overlaps += sum(instance.may_step for instance in self.instances) > 1
                self._act()
        finally:
            for run in self._runs.values():
                run.cancel()
            await asyncio.gather(*self._runs.values(), return_exceptions=True)

    def _kill(self, instance: Instance) -> None:
        """Replace the process by a new one. Its requests can still arrive, but it reads no answer."""
        self._runs.pop(instance).cancel()
        for work in instance.tasks:
            work.cancel()
        instance.lease = instance.term = None
        self._runs[instance] = asyncio.create_task(instance.run())

    def _act(self) -> None:
        ready = [op for op in self._operations if op.due <= self.time and op.owner.paused_until <= self.time]
        chance = self.random.random()
        if not ready or chance < 0.10:
            self.time += self.random.choice((0.05, 0.2, 0.5, 1.0))
        elif chance < 0.11:
            pause = self.random.choice((1.0, 3.0, 5.0, 7.0, 20.0))
            self.random.choice(self.instances).paused_until = self.time + pause
        elif chance < 0.115:
            self._kill(self.random.choice(self.instances))
        else:
            self._progress(self.random.choice(ready))

    def _progress(self, operation: Operation[object]) -> None:
        """Let the request arrive, or its answer."""
        if operation.result is None:
            operation.result = self._arrive(operation)
            if operation.due == -inf:
                return
        self._operations.remove(operation)
        if operation.answer.done():
            return
        try:
            operation.answer.set_result(operation.result())
        except (OSError, FencedError) as error:
            operation.answer.set_exception(error)

    def _arrive(self, operation: Operation[object]) -> Callable[[], object]:
        """Carry out the request unless it is lost.

        Return a function that gives the answer, which can be lost as well.
        """
        chance = 1.0 if operation.due > -inf else self.random.random()
        if chance < 0.03:
            return _fail(OSError("the request was lost"))
        try:
            result = operation.act()
        except FencedError as error:
            return _fail(error)
        return _fail(OSError("the answer was lost")) if chance < 0.06 else lambda: result


def _fail(error: Exception) -> Callable[[], object]:
    def fail() -> object:
        raise error

    return fail


async def settle() -> None:
    """Let all tasks run until they wait for operations."""
    for _ in range(8):
        await asyncio.sleep(0)
