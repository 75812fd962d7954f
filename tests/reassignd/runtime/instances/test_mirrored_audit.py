"""The audit log outlives the instance: the next active one shows its entries, and goes on with the ids."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backends.sqlite.datadir import StoreError
from backends.state_topic.log import TopicReplacedError
from backends.state_topic.state_rows import RowWriter
from backends.state_topic.topic import StateTopicError
from common.backoff import RETRY_RARELY_SECONDS
from common.clock import ManualClock
from common.off_loop import WorkerThread
from common.tasks import cancel
from controller.model.audit import AuditFilter
from controller.ports import StoreLostError
from protocol.record_batch import Producer
from reassignd.runtime.instances.mirrored_audit import TopicAudit
from reassignd.runtime.storage.retention import AuditRetention
from tests.backends.audit_topic.builders import RecordedStore, an_entry
from tests.reassignd.transfer.builders import MemoryLog


class Topic:
    """The audit topic in memory, which several instances share."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.open_errors: list[Exception] = []

    def audit_log(self) -> MemoryLog:
        return self.log

    async def open_audit_topic(self) -> None:
        if self.open_errors:
            raise self.open_errors.pop(0)

    @asynccontextmanager
    async def instance(self, entries: int = 1000) -> AsyncIterator["Instance"]:
        """Run an instance in the context, which keeps as many entries."""
        off_loop, clock = WorkerThread(), ManualClock()
        audit = TopicAudit(self, AuditRetention(10**15, entries), off_loop, clock)
        running = asyncio.create_task(audit.run())
        yield Instance(audit, clock)
        await cancel(running)
        off_loop.close()
        audit.close()


class Instance:
    def __init__(self, audit: TopicAudit, clock: ManualClock) -> None:
        self.audit, self._clock = audit, clock

    async def ids(self) -> list[int]:
        """Return the ids that the API shows, newest first, after some time."""
        for _ in range(20):
            await self._clock.advance(RETRY_RARELY_SECONDS)
            await asyncio.sleep(0.01)
        return [entry.id for entry in self.audit.store.reader.newest(AuditFilter(), 100)]


def rows_of(*numbers: int) -> dict[bytes, bytes]:
    """Return the rows of entries in the state topic."""
    writer = RowWriter(())
    rows = (row for number in numbers for row in writer.encode(an_entry(number)))
    return {row.key: row.value for row in rows if row.key is not None and row.value is not None}


@pytest.fixture
def topic() -> Topic:
    return Topic()


async def test_entries_of_one_instance_are_shown_by_another(topic: Topic) -> None:
    async with topic.instance() as active, topic.instance() as standby:
        outbox = await active.audit.begin_term(RecordedStore(), {})
        await outbox.commit([an_entry(1), an_entry(2)])
        assert await active.ids() == [2, 1]
        await outbox.copy()
        assert (await active.ids(), await standby.ids()) == ([2, 1], [2, 1])


async def test_entries_that_were_not_copied_are_those_of_the_next_term(topic: Topic) -> None:
    async with topic.instance() as successor:
        outbox = await successor.audit.begin_term(RecordedStore(), rows_of(1, 2))
        assert successor.audit.store.reader.span().newest == 2
        await outbox.copy()
    async with topic.instance() as third:
        assert await third.ids() == [2, 1]


async def test_a_term_whose_entries_cannot_be_copied_ends(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object, __: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("backends.sqlite.store.SqliteStore.commit", fail)
    async with topic.instance() as instance:
        with pytest.raises(StoreLostError, match="the audit log is incomplete: the disk is full"):
            await instance.audit.begin_term(RecordedStore(), rows_of(1))


async def test_a_topic_that_cannot_be_used_is_named_once_and_opened_again(
    topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    topic.open_errors = [StateTopicError("grant CREATE on the topic") for _ in range(3)]
    await topic.log.append([*RowWriter(()).encode(an_entry(1))], (-1, -1), -1)  # type: ignore[arg-type]
    async with topic.instance() as instance:
        assert await instance.ids() == [1]
    assert [text for text in caplog.messages if "grant CREATE" in text] == [
        "grant CREATE on the topic; entries of the audit log stay in the state topic until then"
    ]


async def test_a_topic_that_cannot_be_used_again_is_named_again(
    topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    refused, replaced = StateTopicError("grant CREATE on the topic"), TopicReplacedError("it was deleted")
    topic.open_errors = [refused]
    async with topic.instance() as instance:
        await instance.ids()
        topic.open_errors = [refused]
        topic.log.failure = replaced
        await instance.ids()
    # The clock of the test advances without the host's, of which the retention may warn.
    said = [record.message[:12] for record in caplog.records if record.name.endswith("mirrored_audit")]
    assert said == ["grant CREATE", "it was delet", "grant CREATE"]


async def test_a_standby_trims_its_copy(topic: Topic) -> None:
    entries = [RowWriter(()).encode(an_entry(number))[0] for number in (1, 2, 3)]
    await topic.log.append(entries, Producer(-1, -1), -1)
    async with topic.instance(entries=2) as instance:
        assert await instance.ids() == [3, 2]


async def test_a_topic_that_was_made_again_is_read_anew(
    topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    topic.open_errors = [TopicReplacedError("the topic was deleted and made again")]
    await topic.log.append([*RowWriter(()).encode(an_entry(1))], (-1, -1), -1)  # type: ignore[arg-type]
    async with topic.instance() as instance:
        assert await instance.ids() == [1]
    assert "its entries are read again" in caplog.text
