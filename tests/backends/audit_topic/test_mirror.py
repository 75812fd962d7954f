"""The mirror has each entry of the topic once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.audit_topic.mirror import PAUSE_SECONDS, AuditMirror, KnownIds
from backends.sqlite.datadir import StoreError
from backends.state_topic.log import TopicReplacedError
from common.clock import ManualClock, settle
from common.tasks import cancel
from controller.model.cluster import Change
from protocol.codec.errors import DecodeError
from tests.backends.audit_topic.builders import RecordedStore, ScriptedTopic, an_entry
from tests.backends.state_topic.builders import row


class Following:
    """A mirror of a scripted topic."""

    def __init__(self) -> None:
        self.topic, self.store, self.clock = ScriptedTopic(), RecordedStore(), ManualClock()
        self.mirror = AuditMirror(self.store)

    async def ids(self) -> list[int]:
        """Return the ids in the mirror after some time."""
        await self.clock.advance(3 * PAUSE_SECONDS)
        return self.store.ids()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        task = asyncio.create_task(self.mirror.follow(self.topic, self.clock))
        yield task
        task.cancel()


async def test_entries_are_added_in_order_and_once() -> None:
    following = Following()
    following.topic.add(1, 2, 3)
    following.topic.add(2, 3, 4)
    async with following.running():
        assert await following.ids() == [1, 2, 3, 4]
        following.topic.add(5)
        assert await following.ids() == [1, 2, 3, 4, 5]


async def test_an_entry_of_the_outbox_is_not_added_again() -> None:
    following = Following()
    await following.mirror.add([an_entry(9)])
    following.topic.add(8, 9, 10)
    async with following.running():
        assert await following.ids() == [9, 8, 10]


async def test_reading_begins_where_the_topic_begins() -> None:
    following = Following()
    following.topic.add(1)
    following.topic.add(2)
    following.topic.start = 1
    async with following.running():
        assert await following.ids() == [2]


async def test_a_failed_fetch_is_repeated() -> None:
    following = Following()
    following.topic.add(1)
    following.topic.failures = [OSError("no answer"), OSError("no answer")]
    async with following.running():
        assert await following.ids() == [1]


async def test_a_batch_that_cannot_be_read_is_named_once_and_read_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    following = Following()
    following.topic.failures = [DecodeError("a wrong checksum")] * 3
    following.topic.add(1)
    async with following.running():
        assert await following.ids() == [1]
        following.topic.failures = [DecodeError("a wrong checksum")]
        await following.ids()
    line = "the audit topic cannot be read: a wrong checksum; trying again"
    assert caplog.messages == [line, line]


async def test_entries_that_cannot_be_stored_are_named_once_and_read_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    following = Following()
    following.store.error = StoreError("the disk is full")
    following.topic.add(1, 2)
    async with following.running():
        assert await following.ids() == []
        following.store.error = None
        assert await following.ids() == [1, 2]
    assert caplog.messages == ["the audit topic cannot be copied: the disk is full; trying again"]


async def test_an_entry_whose_first_commit_fails_is_added_by_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    following, failing = Following(), asyncio.Event()

    async def fail_later(_: object) -> None:
        await failing.wait()
        raise StoreError("the disk is full")

    monkeypatch.setattr(following.store, "commit", fail_later)
    shown = asyncio.create_task(following.mirror.add([an_entry(1)]))
    await settle()
    read = asyncio.create_task(following.mirror.add([an_entry(1)]))
    await settle()
    monkeypatch.undo()
    failing.set()
    with pytest.raises(StoreError):
        await shown
    await read
    assert following.store.ids() == [1]


async def test_entries_are_added_though_the_caller_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    following, written = Following(), asyncio.Event()
    commit = following.store.commit

    async def commit_later(changes: Sequence[Change]) -> None:
        await written.wait()
        await commit(changes)

    monkeypatch.setattr(following.store, "commit", commit_later)
    adding = asyncio.create_task(following.mirror.add([an_entry(1)]))
    await settle()
    await cancel(adding)
    written.set()
    await following.mirror.add([an_entry(1)])
    assert following.store.ids() == [1]


async def test_entries_that_were_deleted_before_they_were_read_are_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    following = Following()
    following.topic.failures = [TopicReplacedError("cut off")]
    following.topic.add(1)
    following.topic.add(2)

    async def later() -> int:
        following.topic.start_offset = started  # type: ignore[method-assign]
        return 0

    async def started() -> int:
        return 1

    following.topic.start_offset = later  # type: ignore[method-assign]
    following.topic.start = 1
    async with following.running():
        assert await following.ids() == [2]
    assert "begins at offset 1, and was read to 0 only" in caplog.text


async def test_another_topic_ends_the_mirror() -> None:
    following = Following()
    following.topic.failures = [TopicReplacedError("made again")]
    async with following.running() as task:
        await following.clock.advance(1)
        with pytest.raises(TopicReplacedError):
            await task


async def test_records_that_are_no_entries_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    following = Following()
    following.topic.write(row("garbage"))
    following.topic.add(1)
    async with following.running():
        assert await following.ids() == [1]
    assert "1 records that are no entries" in caplog.text


@given(st.lists(st.integers(1, 30), max_size=60))
def test_it_tells_what_a_set_tells(numbers: list[int]) -> None:
    known, plain = KnownIds(), set[int]()
    for number in numbers:
        assert (number in known) == (number in plain)
        assert known.add(number) == (number not in plain)
        plain.add(number)


def test_consecutive_ids_take_one_range() -> None:
    known = KnownIds()
    assert all(known.add(number) for number in [*range(1, 1000, 2), *range(2, 1000, 2)])
    assert len(known._starts) == 1
