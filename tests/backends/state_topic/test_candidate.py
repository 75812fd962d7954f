"""A standby claims the term when the active instance is silent; see also `test_simulation`."""

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from random import Random

import pytest

from backends.state_topic.candidate import Candidate, ClaimedTerm, read_during_term
from backends.state_topic.claim import Claim
from backends.state_topic.history import History
from backends.state_topic.log import Fetched, Timings, TopicReplacedError
from common.clock import ManualClock
from protocol.record_batch import BatchRecord, Producer
from tests.backends.state_topic.builders import FENCED, Log, ScriptedLog, a_claim, row

OTHER, OURS = Producer(7, 0), Producer(7, 1)


class Rig(ScriptedLog):
    """A candidate on a scripted log. `before_claim` runs between its last look at the log and its claim."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log, self.clock = log, ManualClock()
        self.unreachable = False
        self.before_claim: Callable[[], object] = lambda: None
        self.task: asyncio.Task[ClaimedTerm]
        self.history = History()

    def start(self) -> "Rig":
        candidate = Candidate(self, self.history, new_claim, Timings(6.0), self.clock, Random(1))
        self.task = asyncio.create_task(candidate.claim_term())
        return self

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        if wait:
            await self.clock.sleep(0.25)
        if self.unreachable:
            raise OSError("no answer")
        return Fetched([batch for batch in self.log.batches if batch.header.offset >= offset], self.log.end)

    async def new_epoch(self) -> Producer:
        self.before_claim()
        return OURS

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        self.calls.append("append")
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure
        self.log.add(*records, producer=producer, sequence=sequence)

    async def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.125)):
            await self.clock.advance(0.125)


def new_claim(last: Claim | None, producer: Producer) -> Claim:
    return a_claim(last.term + 1 if last else 1, producer, replaces=last and last.producer, instance="ours")


async def test_an_empty_log_is_claimed_at_once() -> None:
    rig = Rig(Log()).start()
    await rig.run(2)
    term = rig.task.result()
    assert (term.claim.term, term.sequence, term.steps_from) == (1, 1, -inf)


async def test_a_silent_instance_is_replaced_after_a_session() -> None:
    rig = Rig(Log().claim(a_claim(4, OTHER))).start()
    await rig.run(5.9)
    assert not rig.calls
    await rig.run(2.5)
    assert rig.task.result().claim == a_claim(5, OURS, replaces=OTHER, instance="ours")


async def test_an_instance_with_a_longer_session_is_waited_for() -> None:
    rig = Rig(Log().claim(a_claim(4, OTHER, session_ms=9_000))).start()
    await rig.run(8.9)
    assert not rig.calls
    await rig.run(2.5)
    assert rig.task.done()


async def test_an_instance_that_writes_is_not_replaced() -> None:
    rig = Rig(Log().claim(a_claim(1, OTHER))).start()
    for _ in range(10):
        await rig.run(4)
        rig.log.add(row("a"), producer=OTHER)
    assert not rig.calls


async def test_a_released_term_is_claimed_at_once() -> None:
    rig = Rig(Log().claim(a_claim(1, OTHER, released=True))).start()
    await rig.run(1.5)
    assert rig.task.done()


async def test_after_an_outage_of_the_log_the_active_instance_may_write_first() -> None:
    rig = Rig(Log().claim(a_claim(1, OTHER))).start()
    await rig.run(1)
    rig.unreachable = True
    await rig.run(30)
    rig.unreachable = False
    await rig.run(1.9)
    assert not rig.calls
    await rig.run(3)
    assert rig.task.done()


async def test_a_claim_without_an_answer_is_repeated() -> None:
    rig = Rig(Log()).start()
    rig.failures = [OSError("no answer")]
    await rig.run(2)
    assert (rig.calls, rig.task.result().claim.term) == (["append"] * 2, 1)


async def test_a_fenced_claim_goes_on_following() -> None:
    rig = Rig(Log().claim(a_claim(1, OTHER))).start()
    rig.failures = [FENCED]
    await rig.run(9)
    assert rig.calls == ["append"]
    assert not rig.task.done()
    await rig.run(7)
    assert rig.task.done()


@pytest.mark.parametrize("kind", ["row", "claim"])
async def test_steps_wait_when_another_instance_wrote_before_the_claim(kind: str) -> None:
    rig = Rig(Log().claim(a_claim(1, OTHER))).start()
    late = row("late") if kind == "row" else a_claim(2, OTHER).encode()

    rig.before_claim = lambda: rig.log.add(late, producer=OTHER)
    await rig.run(9)
    term = rig.task.result()
    assert term.steps_from > rig.clock.now()
    assert (rig.history.rows == {b"late": b"row"}) == (kind == "row")


async def test_terms_increase_when_two_instances_claim_the_same() -> None:
    rig = Rig(Log().claim(a_claim(1, Producer(6, 9)))).start()

    rig.before_claim = lambda: rig.log.claim(a_claim(2, OTHER, replaces=(6, 9)))
    await rig.run(9)
    assert (rig.task.result().claim.term, rig.task.result().sequence) == (3, 2)


async def test_each_read_is_reported() -> None:
    rig, reads = Rig(Log().claim(a_claim())), list[bool]()
    candidate = Candidate(
        rig, rig.history, new_claim, Timings(6.0), rig.clock, Random(1), on_read=reads.append
    )
    rig.task = asyncio.create_task(candidate.claim_term())
    await rig.run(1.1)
    assert reads == [True] * 4
    rig.task.cancel()


async def test_no_term_is_claimed_while_that_is_not_allowed() -> None:
    rig = Rig(Log())
    candidate = Candidate(
        rig,
        rig.history,
        new_claim,
        Timings(6.0),
        rig.clock,
        Random(1),
        may_claim=lambda: rig.clock.now() > 10,
    )
    rig.task = asyncio.create_task(candidate.claim_term())
    await rig.run(9.9)
    assert not rig.log.batches
    await rig.run(5)
    assert rig.task.done()


class FetchedLog(ScriptedLog):
    """Gives these answers to fetches, then ends the test by TopicReplacedError."""

    def __init__(self, *answers: Log | OSError) -> None:
        super().__init__()
        self.answers = list(answers)

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        if not self.answers:
            raise TopicReplacedError("deleted")
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return Fetched([batch for batch in answer.batches if batch.header.offset >= offset], answer.end)


async def test_batches_are_applied_and_reported_until_the_topic_is_gone() -> None:
    clock, history, reads = ManualClock(), History(), list[bool]()
    log = Log().claim(a_claim()).add(row("a"))
    source = FetchedLog(log, OSError("no answer"), log)
    reading = asyncio.create_task(read_during_term(source, history, clock, reads.append))
    await clock.advance(1)
    with pytest.raises(TopicReplacedError):
        await reading
    assert (history.rows, reads) == ({b"a": b"row"}, [True])


async def test_a_batch_that_cannot_be_read_ends_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    source = FetchedLog(Log().claim(a_claim()).add(BatchRecord(None, b"x")))
    await read_during_term(source, History(), ManualClock(), lambda _: None)
    assert "no other instance can take over" in caplog.text
