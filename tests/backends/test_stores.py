"""What every store of records must do (`controller.ports.Store`)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.sqlite.store import PART, SqliteStore
from controller.model.cluster import (
    Change,
    ControllerEpoch,
    Deleted,
    Partition,
    Paused,
    Reassignment,
    Record,
    TopicPartition,
)
from controller.ports import Store
from tests.backends.records import EVERY_KIND
from tests.backends.state_topic.builders import RecordedLog, opened
from tests.examples import examples

Opens = Callable[[], AbstractAsyncContextManager[Store]]
"""Opens the store again, as after a restart."""


@asynccontextmanager
async def opened_directory(folder: Path) -> AsyncIterator[Store]:
    store = SqliteStore(folder)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture(params=["directory", "topic"])
def new_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Opens]:
    """Makes empty stores."""
    if request.param == "topic":
        return lambda: partial(opened, RecordedLog())
    return lambda: partial(opened_directory, tmp_path_factory.mktemp("records"))


@pytest.fixture
def opens(new_place: Callable[[], Opens]) -> Opens:
    return new_place()


async def committed(opens: Opens, *commits: Sequence[Change]) -> list[Record]:
    """Commit at once, in order; return what is loaded after a restart."""
    async with opens() as store:
        await asyncio.gather(*[store.commit(changes) for changes in commits])
    async with opens() as store:
        return list(store.load())


async def test_a_new_store_is_empty(opens: Opens) -> None:
    assert await committed(opens) == []


async def test_every_kind_of_record_is_stored_replaced_and_deleted(opens: Opens) -> None:
    for _ in range(2):
        assert set(await committed(opens, EVERY_KIND)) == set(EVERY_KIND)
    lasting = {record for record in EVERY_KIND if isinstance(record, ControllerEpoch | Paused)}
    deleted = [Deleted(type(each), each.key) for each in EVERY_KIND if each not in lasting]
    assert set(await committed(opens, deleted)) == lasting


async def test_a_record_replaces_the_one_with_its_key(opens: Opens) -> None:
    assert await committed(opens, [ControllerEpoch(1), ControllerEpoch(2)]) == [ControllerEpoch(2)]
    assert await committed(opens, [ControllerEpoch(3)]) == [ControllerEpoch(3)]


async def test_deletes_and_puts_of_one_key_are_applied_in_order(opens: Opens) -> None:
    wanted, partition = Reassignment("foo", 0, (1,), (2,)), Partition("foo", 0, (1,), (1,), 1)
    gone = Deleted(Reassignment, wanted.key)
    assert await committed(opens, [wanted, gone, wanted, partition, gone]) == [partition]
    assert wanted in await committed(opens, [gone, wanted])


async def test_a_replaced_reassignment_keeps_its_position_and_a_new_one_is_last(opens: Opens) -> None:
    first, second = Reassignment("foo", 0, (1,), (2,)), Reassignment("bar", 0, (1,), (2,))
    replaced = first._replace(target=(3,))
    assert await committed(opens, [first, second], [replaced]) == [replaced, second]
    assert await committed(opens, [Deleted(Reassignment, first.key), first]) == [second, first]


changes = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, 9)), max_size=12)


@given(st.lists(changes, max_size=4))
@settings(
    max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_commits_have_the_result_of_dictionary_operations(
    new_place: Callable[[], Opens], commits: list[list[tuple[int, bool, int]]]
) -> None:
    wanted: dict[int, Reassignment] = {}
    made: list[list[Change]] = []
    for commit in commits:
        made.append([])
        for number, deletes, target in commit:
            record = Reassignment("foo", number, (1,), (target,))
            made[-1].append(Deleted(Reassignment, record.key) if deletes else record)
            if deletes:
                wanted.pop(number, None)
            else:
                wanted[number] = record
    assert await committed(new_place(), *made) == list(wanted.values())


async def test_thousands_of_records_in_one_commit_are_stored(opens: Opens) -> None:
    partitions = [Partition("foo", index, (1, 2), (1, 2), 1) for index in range(4_321)]
    assert await committed(opens, partitions) == partitions
    deleted = [Deleted(Partition, each.key) for each in reversed(partitions[1:])]
    assert await committed(opens, deleted) == partitions[:1]


def numbered(count: int) -> list[Change]:
    return [Partition("foo", index, (1, 2), (1, 2), 1) for index in range(count)]


async def test_a_commit_that_was_prepared_in_parts_is_stored_once_and_completely(opens: Opens) -> None:
    changes = numbered(PART)
    async with opens() as store:
        store.prepare(changes)
        changes += [Deleted(Partition, TopicPartition("foo", PART - 1)), ControllerEpoch(1)]
        store.prepare(changes)
        changes += [ControllerEpoch(2), *numbered(PART - 1)]
        await store.commit(changes)
    assert await committed(opens) == [ControllerEpoch(2), *numbered(PART - 1)]


async def test_what_was_prepared_has_no_effect_without_its_commit(opens: Opens) -> None:
    async with opens() as store:
        before = asyncio.ensure_future(store.commit([ControllerEpoch(1)]))
        store.prepare(numbered(PART))
        await before
    assert await committed(opens) == [ControllerEpoch(1)]


async def test_another_commit_between_the_parts_does_not_end_them(opens: Opens) -> None:
    changes = numbered(PART)
    async with opens() as store:
        store.prepare(changes)
        other = asyncio.ensure_future(store.commit([ControllerEpoch(1)]))
        await asyncio.sleep(0.05)
        assert Partition("foo", 0, (1, 2), (1, 2), 1) not in store.load()
        await store.commit(changes)
        await other
    assert await committed(opens) == [ControllerEpoch(1), *numbered(PART)]


async def test_commits_complete_in_the_order_of_calls(opens: Opens) -> None:
    done: list[int] = []
    async with opens() as store:
        commits = [asyncio.ensure_future(store.commit([ControllerEpoch(number)])) for number in range(50)]
        for number, commit in enumerate(commits):
            commit.add_done_callback(partial(_note, done, number))
        await asyncio.gather(*commits)
    assert done == list(range(50))
    assert await committed(opens) == [ControllerEpoch(49)]


def _note(done: list[int], number: int, _: asyncio.Future[None]) -> None:
    done.append(number)


async def test_a_cancelled_caller_does_not_affect_others(opens: Opens) -> None:
    async with opens() as store:
        first = asyncio.ensure_future(store.commit([ControllerEpoch(1)]))
        second = store.commit([ControllerEpoch(2)])
        first.cancel()
        await second
    assert await committed(opens) == [ControllerEpoch(2)]
