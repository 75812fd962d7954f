"""A failed start leaves no new data directory."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError, lock
from backends.sqlite.store import SqliteStore
from controller.model.cluster import Broker, Change, Config, ControllerEpoch, Record, ResourceType, Topic
from controller.modes import EMBEDDED
from controller.state.state import State
from reassignd.config.errors import CommandError
from reassignd.runtime.storage.identity import cluster_id
from reassignd.runtime.storage.records import (
    FILES,
    RECORDS_PER_SLICE,
    is_fresh,
    is_worthless,
    load,
    open_store,
    remove,
    remove_abandoned,
)
from tests.builders import partition


def topics(count: int) -> Iterable[Topic]:
    return (Topic(f"t{number}", number.to_bytes(16)) for number in range(count))


class Damaged(MemoryStore):
    def load(self) -> Iterator[Record]:
        yield from topics(1)
        raise StoreError("records are damaged")


async def test_any_number_of_records_is_loaded() -> None:
    commit: Sequence[Change] = list(topics(2 * RECORDS_PER_SLICE + 1))
    state = State(mode=EMBEDDED)
    await load(MemoryStore([commit]), state)
    assert len(state.cluster.topics) == 2 * RECORDS_PER_SLICE + 1


async def test_damaged_records_are_refused() -> None:
    with pytest.raises(CommandError, match="records are damaged"):
        await load(Damaged(), State(mode=EMBEDDED))


class Contradicting(MemoryStore):
    def load(self) -> Iterator[Record]:
        yield partition("foo-0", [1])


async def test_records_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(CommandError, match=r"contradict each other \(KeyError\('foo'\)\); restore"):
        await load(Contradicting(), State(mode=EMBEDDED))


@pytest.mark.parametrize("left", [b"", b"S"])
def test_a_directory_without_its_database_is_refused(tmp_path: Path, left: bytes) -> None:
    open_store(tmp_path).close()
    cluster_id(tmp_path)
    (tmp_path / "records.db").write_bytes(left)
    with pytest.raises(
        CommandError, match=r"records.db is missing or empty, though there is a meta.properties"
    ):
        open_store(tmp_path)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(CommandError, match="in use by process"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()


def test_a_missing_or_empty_directory_is_fresh(tmp_path: Path) -> None:
    assert is_fresh(tmp_path / "none")
    assert is_fresh(tmp_path)
    (tmp_path / "notes").touch()
    assert not is_fresh(tmp_path)


@pytest.mark.parametrize("record", [Topic("foo", bytes(16)), Config(ResourceType.BROKER, "", "a", "1")])
def test_records_of_clients_are_worth_keeping(record: Record) -> None:
    usual: list[Record] = [ControllerEpoch(1), Broker(1, "localhost", 9092, None, 1)]
    assert is_worthless(usual)
    assert not is_worthless([*usual, record])


def test_all_files_of_a_store_are_removed(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    SqliteStore(directory).close()
    for name in FILES:
        (directory / name).touch()
    remove(directory)
    assert not directory.exists()


def test_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    remove(tmp_path)
    assert (tmp_path / "notes").exists()


def test_folders_of_killed_processes_are_removed_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("copy-killed", "copy-running", "copy-new", "other-killed"):
        SqliteStore(tmp_path / name).close()
        if name != "copy-new":
            os.utime(tmp_path / name, (0, 0))
    (tmp_path / "copy-link").symlink_to(tmp_path / "other-killed")
    with lock(tmp_path / "copy-running"):
        remove_abandoned("copy-")
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"copy-running", "copy-new", "copy-link", "other-killed"}
