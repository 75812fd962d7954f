import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.datadir import StoreError
from backends.sqlite.store import SqliteStore
from controller.model.cluster import (
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Partition,
    Paused,
    Reassignment,
    Record,
    ResourceType,
    Topic,
    TopicPartition,
)
from tests.backends.records import EVERY_KIND

PATIENCE_SECONDS = 60

RECORDS: list[Record] = [
    ControllerEpoch(7),
    Broker(1, "localhost", 9092, "rack-a", 3),
    Broker(2, "localhost", 9093, None, 4),
    Topic("zoo", bytes(range(16))),
    Topic("bar", bytes(16), deleting=True),
    Partition("bar", 0, (1, 2), (1,), 1, 5, 6, (2,), (3,)),
    Partition("zoo", 0, (2,), (2,), -1),
    Partition("zoo", 1, (2,), (2,), -1),
    Reassignment("zoo", 1, (1, 2, 3), (4, 5)),
    Reassignment("bar", 0, (1,), ()),
    Config(ResourceType.BROKER, "", "a.b", "1"),
    Config(ResourceType.TOPIC, "bar", "c.d", ""),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    yield store
    store.close()


def reopened(store: SqliteStore, directory: Path) -> list[Record]:
    store.close()
    again = SqliteStore(directory)
    try:
        return list(again.load())
    finally:
        again.close()


def test_a_refused_directory_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"not a database" * 1000)
    for _ in range(2):
        with pytest.raises(StoreError, match="are damaged"):
            SqliteStore(tmp_path)


def test_a_new_store_is_empty(store: SqliteStore) -> None:
    assert list(store.load()) == []


async def test_records_are_loaded_in_their_order_after_a_restart(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit(RECORDS)
    assert reopened(store, tmp_path) == RECORDS


async def test_every_kind_of_record_is_stored_replaced_and_deleted(store: SqliteStore) -> None:
    for _ in range(2):
        await store.commit(EVERY_KIND)
        assert set(store.load()) == set(EVERY_KIND)
    lasting = [record for record in EVERY_KIND if isinstance(record, ControllerEpoch | Paused)]
    await store.commit([Deleted(type(each), each.key) for each in EVERY_KIND if each not in lasting])
    assert set(store.load()) == set(lasting)


async def test_a_record_replaces_the_one_with_its_key(store: SqliteStore) -> None:
    await store.commit([ControllerEpoch(1), ControllerEpoch(2)])
    await store.commit([ControllerEpoch(3)])
    assert list(store.load()) == [ControllerEpoch(3)]


async def test_each_kind_of_record_can_be_deleted(store: SqliteStore) -> None:
    await store.commit(RECORDS)
    await store.commit([Deleted(type(record), record.key) for record in RECORDS[1:]])
    assert list(store.load()) == [ControllerEpoch(7)]


async def test_deletes_and_puts_of_one_key_are_applied_in_order(store: SqliteStore) -> None:
    wanted = Reassignment("foo", 0, (1,), (2,))
    gone = Deleted(Reassignment, wanted.key)
    await store.commit([wanted, gone, wanted, Partition("foo", 0, (1,), (1,), 1), gone])
    assert [type(record) for record in store.load()] == [Partition]
    await store.commit([gone, wanted])
    assert wanted in store.load()


async def test_a_replaced_reassignment_keeps_its_position_and_a_new_one_is_last(store: SqliteStore) -> None:
    first, second = Reassignment("foo", 0, (1,), (2,)), Reassignment("bar", 0, (1,), (2,))
    await store.commit([first, second])
    await store.commit([first._replace(target=(3,))])
    assert list(store.load()) == [first._replace(target=(3,)), second]
    await store.commit([Deleted(Reassignment, first.key), first])
    assert list(store.load()) == [second, first]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, 9)), max_size=12), max_size=4
    )
)
@settings(max_examples=50, deadline=None)
def test_commits_have_the_result_of_dictionary_operations(commits: list[list[tuple[int, bool, int]]]) -> None:
    wanted: dict[int, Reassignment] = {}

    async def commit(store: SqliteStore) -> None:
        for commit in commits:
            changes: list[Change] = []
            for number, deletes, target in commit:
                made = Reassignment("foo", number, (1,), (target,))
                if not deletes:
                    wanted[number] = made
                else:
                    wanted.pop(number, None)
                changes.append(Deleted(Reassignment, made.key) if deletes else made)
            await store.commit(changes)

    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder))) as store:
        asyncio.run(commit(store))
        assert list(store.load()) == list(wanted.values())


async def test_thousands_of_records_in_one_commit_are_stored(store: SqliteStore) -> None:
    partitions = [Partition("foo", index, (1, 2), (1, 2), 1) for index in range(4_321)]
    await store.commit(partitions)
    assert list(store.load()) == partitions
    await store.commit([Deleted(Partition, p.key) for p in reversed(partitions[1:])])
    assert list(store.load()) == partitions[:1]


async def test_commits_complete_in_the_order_of_calls(store: SqliteStore) -> None:
    done: list[int] = []
    commits = [store.commit([ControllerEpoch(number)]) for number in range(50)]
    for number, commit in enumerate(commits):
        commit.add_done_callback(partial(_note, done, number))
    await asyncio.gather(*commits)
    assert done == list(range(50))
    assert list(store.load()) == [ControllerEpoch(49)]


def _note(done: list[int], number: int, _: asyncio.Future[None]) -> None:
    done.append(number)


async def test_a_cancelled_caller_does_not_affect_others(store: SqliteStore) -> None:
    first, second = store.commit([ControllerEpoch(1)]), store.commit([ControllerEpoch(2)])
    first.cancel()
    await second
    assert list(store.load()) == [ControllerEpoch(2)]


async def test_waiting_commits_are_written_when_the_store_closes(store: SqliteStore, tmp_path: Path) -> None:
    commits = [store.commit([ControllerEpoch(number)]) for number in range(10)]
    assert reopened(store, tmp_path) == [ControllerEpoch(9)]
    await asyncio.gather(*commits)


def test_waiting_commits_are_written_when_the_event_loop_is_closed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)

    async def commit_and_leave() -> None:
        commits = [store.commit([ControllerEpoch(epoch)]) for epoch in range(100)]
        assert len(commits) == 100

    asyncio.run(commit_and_leave())
    assert reopened(store, tmp_path) == [ControllerEpoch(99)]


async def test_a_closed_store_refuses_commits(store: SqliteStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        await store.commit([])


async def test_a_full_disk_fails_the_commit_and_all_after_it(store: SqliteStore) -> None:
    await store.commit([ControllerEpoch(1)])
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages + 1}")
    large = [Topic(f"{index}" * 200, bytes(16)) for index in range(1_000)]
    with pytest.raises(StoreError, match=r"cannot be written .* is full\); free disk space"):
        await store.commit([ControllerEpoch(2), *large])
    with pytest.raises(StoreError, match="free disk space"):
        await store.commit([ControllerEpoch(3)])
    assert list(store.load()) == [ControllerEpoch(1)]


@pytest.mark.parametrize("value", [2**63, "\ud800"], ids=["a number too large", "text that is no UTF-8"])
async def test_a_record_that_sqlite_cannot_store_fails_the_commit_and_all_after_it(
    store: SqliteStore, value: Any
) -> None:
    for record in (Broker(value, "localhost", 9092, value, 1), ControllerEpoch(8)):
        with pytest.raises((OverflowError, UnicodeEncodeError)):
            await asyncio.wait_for(store.commit([record]), PATIENCE_SECONDS)


async def test_a_failed_commit_is_rolled_back(store: SqliteStore) -> None:
    store._database.execute("DROP TABLE configs")
    with pytest.raises(StoreError, match="no such table"):
        await store.commit(RECORDS)
    with sqlite3.connect(store._directory / "records.db") as reader:
        assert reader.execute("SELECT count(*) FROM topics").fetchone() == (0,)
    reader.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE partitions SET replicas = '1,x'",
        "UPDATE configs SET resource = 'cluster'",
        "UPDATE topics SET id = 'A'",
        "DROP TABLE reassignments",
    ],
)
async def test_invalid_records_are_refused(store: SqliteStore, damage: str) -> None:
    await store.commit(RECORDS)
    store._database.execute(damage)
    with pytest.raises(StoreError, match=r"are damaged \(.*\); restore the directory from a backup"):
        list(store.load())


@pytest.mark.parametrize("lines", [1, 7, 40, 123])
async def test_a_killed_writer_loses_no_acknowledged_commit(tmp_path: Path, lines: int) -> None:
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.backends.writer", str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    acknowledged = [int(await writer.stdout.readline()) for _ in range(lines)]
    writer.kill()
    acknowledged += [int(line) for line in (await writer.stdout.read()).split()]
    await writer.wait()
    store = SqliteStore(tmp_path)
    records = list(store.load())
    store.close()
    epoch = records[0]
    assert isinstance(epoch, ControllerEpoch)
    assert epoch.epoch >= acknowledged[-1] == len(acknowledged)
    whole = {TopicPartition(f"t-{n}", index) for n in range(1, epoch.epoch + 1) for index in range(2)}
    assert {record.key for record in records if isinstance(record, Partition)} == whole
    assert len(records) == 1 + 3 * epoch.epoch
