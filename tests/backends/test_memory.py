import asyncio

import pytest

from backends.memory import MemoryStore
from controller.model.cluster import ControllerEpoch, Deleted, Partition, Topic

FOO, BAR = Topic("foo", bytes(16)), Topic("bar", bytes(16))


async def test_commits_are_durable_at_once_and_topics_load_before_partitions() -> None:
    store = MemoryStore()
    partition = Partition("foo", 0, (1,), (1,), 1)
    await store.commit([partition, FOO])
    assert list(store.load()) == [FOO, partition]


async def test_deleted_records_are_not_loaded() -> None:
    store = MemoryStore()
    await store.commit([FOO, BAR])
    await store.commit([Deleted(Topic, "foo")])
    assert list(store.load()) == [BAR]


async def test_a_store_of_earlier_commits_has_these_only() -> None:
    store = MemoryStore()
    for epoch in range(3):
        await store.commit([ControllerEpoch(epoch)])
    assert list(MemoryStore(store.commits[:2]).load()) == [ControllerEpoch(1)]


async def test_held_commits_wait_for_release() -> None:
    store = MemoryStore()
    store.hold()
    first, second = (asyncio.ensure_future(store.commit([ControllerEpoch(n)])) for n in range(2))
    store.release(1)
    await first
    assert not second.done()
    assert list(store.load()) == [ControllerEpoch(0)]
    second.cancel()


async def test_commits_after_a_number_are_held_and_released_together() -> None:
    store = MemoryStore()
    store.hold(after=1)
    first, *others = (asyncio.ensure_future(store.commit([ControllerEpoch(n)])) for n in range(3))
    await first
    assert len(store.commits) == 1
    store.release()
    await asyncio.gather(*others, store.commit([ControllerEpoch(3)]))
    assert list(store.load()) == [ControllerEpoch(3)]


async def test_commits_fail_with_the_configured_failure() -> None:
    store = MemoryStore()
    store.failure = OSError("full")
    with pytest.raises(OSError, match="full"):
        await store.commit([FOO])
    assert list(store.load()) == []
