import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.sqlite.datadir import StoreError
from backends.sqlite.store import PART, SqliteStore
from controller.model.cluster import (
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Partition,
    Reassignment,
    Record,
    ResourceType,
    Topic,
    TopicPartition,
)
from tools.waiting import wait_until

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


def damage(store: SqliteStore, statement: str) -> None:
    """Execute the statement on a connection of its own.

    The writer thread may have a read open on that of the store.
    """
    with contextlib.closing(sqlite3.connect(store._directory / "records.db")) as database, database:
        database.execute(statement)


def test_a_refused_directory_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"not a database" * 1000)
    for _ in range(2):
        with pytest.raises(StoreError, match="are damaged"):
            SqliteStore(tmp_path)


async def test_records_are_loaded_in_their_order_after_a_restart(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit(RECORDS)
    assert reopened(store, tmp_path) == RECORDS


async def test_each_kind_of_record_can_be_deleted(store: SqliteStore) -> None:
    await store.commit(RECORDS)
    await store.commit([Deleted(type(record), record.key) for record in RECORDS[1:]])
    assert list(store.load()) == [ControllerEpoch(7)]


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


async def test_a_part_is_written_before_its_commit(store: SqliteStore) -> None:
    changes: list[Change] = [Topic(f"t-{number}", bytes(16)) for number in range(PART)]
    store.prepare(changes)
    wait_until(lambda: store._database.in_transaction, lambda: "the part")
    assert list(store.load()) == []
    await store.commit(changes)
    assert list(store.load()) == changes


async def test_a_closed_store_refuses_commits(store: SqliteStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        await store.commit([])


def test_a_process_ends_though_its_store_was_not_closed(tmp_path: Path) -> None:
    imports = "import sys; from pathlib import Path; from backends.sqlite.store import SqliteStore"
    command = [sys.executable, "-c", f"{imports}; SqliteStore(Path({str(tmp_path)!r})); sys.exit(7)"]
    ended = subprocess.run(command, timeout=PATIENCE_SECONDS, check=False)  # noqa: S603 - our own
    assert ended.returncode == 7


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


async def test_a_store_of_an_audit_log_writes_again_when_the_disk_has_room(tmp_path: Path) -> None:
    with contextlib.closing(SqliteStore(tmp_path, recovers=True)) as store:
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match=r"free disk space or mend the disk$"):
            await store.commit([Topic(f"{index}" * 200, bytes(16)) for index in range(1_000)])
        store._database.execute("PRAGMA max_page_count = 1000000")
        await store.commit([ControllerEpoch(3)])
        assert list(store.load()) == [ControllerEpoch(3)]


@pytest.mark.parametrize("value", [2**63, "\ud800"], ids=["a number too large", "text that is no UTF-8"])
async def test_a_record_that_sqlite_cannot_store_fails_the_commit_and_all_after_it(
    store: SqliteStore, value: Any
) -> None:
    for record in (Broker(value, "localhost", 9092, value, 1), ControllerEpoch(8)):
        with pytest.raises((OverflowError, UnicodeEncodeError)):
            await asyncio.wait_for(store.commit([record]), PATIENCE_SECONDS)


async def test_an_unexpected_error_fails_the_commit_and_all_after_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("of a fault")

    monkeypatch.setattr("backends.sqlite.store._apply", fail)
    for _ in range(2):
        with pytest.raises(AttributeError, match="of a fault"):
            await asyncio.wait_for(store.commit([ControllerEpoch(8)]), PATIENCE_SECONDS)


async def test_a_failed_commit_is_rolled_back(store: SqliteStore) -> None:
    damage(store, "DROP TABLE configs")
    with pytest.raises(StoreError, match="no such table"):
        await store.commit(RECORDS)
    with sqlite3.connect(store._directory / "records.db") as reader:
        assert reader.execute("SELECT count(*) FROM topics").fetchone() == (0,)
    reader.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE partitions SET replicas = '1,x'",
        "UPDATE configs SET resource = 'cluster'",
        "UPDATE topics SET id = 'A'",
        "DROP TABLE reassignments",
    ],
)
async def test_invalid_records_are_refused(store: SqliteStore, statement: str) -> None:
    await store.commit(RECORDS)
    damage(store, statement)
    with pytest.raises(StoreError, match=r"are damaged \(.*\); restore the directory from a backup"):
        list(store.load())


@pytest.mark.parametrize(
    ("lines", "partitions"), [(1, 2), (7, 2), (40, 2), (123, 2), (1, 3 * PART), (4, 3 * PART)]
)
async def test_a_killed_writer_loses_no_acknowledged_commit_and_leaves_no_part_of_another(
    tmp_path: Path, lines: int, partitions: int
) -> None:
    command = [sys.executable, "-m", "tests.backends.writer", str(tmp_path), str(partitions)]
    writer = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
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
    whole = {
        TopicPartition(f"t-{n}", index) for n in range(1, epoch.epoch + 1) for index in range(partitions)
    }
    assert {record.key for record in records if isinstance(record, Partition)} == whole
    assert len(records) == 1 + (1 + partitions) * epoch.epoch
