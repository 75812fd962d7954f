"""The log is read during a term."""

import asyncio

import pytest

from backends.state_topic.history import History
from backends.state_topic.ports import Fetched, TopicReplacedError
from backends.state_topic.reader import read_during_term
from common.clock import ManualClock
from protocol.record_batch import BatchRecord
from tests.backends.state_topic.builders import Log, ScriptedLog, a_claim, row


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
