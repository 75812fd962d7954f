"""A failed start leaves no new data directory."""

import os
import tempfile
from pathlib import Path

import pytest

from backends.sqlite.datadir import lock
from backends.sqlite.store import SqliteStore
from controller.model.cluster import Broker, Config, ControllerEpoch, Record, ResourceType, Topic
from reassignd.runtime.storage.fresh_dir import FILES, is_fresh, is_worthless, remove, remove_abandoned


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
