"""A backup of the database alone has everything."""

import base64
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backends.sqlite.datadir import StoreError
from controller.model.cluster import Config, ResourceType
from reassignd.config.errors import CommandError
from reassignd.runtime.storage import identity
from reassignd.runtime.storage.identity import claim, cluster_id, copy_of, keep_files, write_values
from reassignd.runtime.storage.records import open_store


def test_a_new_directory_gets_an_id_in_kafkas_format(tmp_path: Path) -> None:
    assert len(base64.urlsafe_b64decode(cluster_id(tmp_path) + "==")) == 16


def test_the_id_does_not_change(tmp_path: Path) -> None:
    assert cluster_id(tmp_path) == cluster_id(tmp_path)


def test_two_directories_have_different_ids(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert cluster_id(tmp_path) != cluster_id(tmp_path / "other")


def test_an_id_written_by_the_operator_is_used(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=mine\n")
    assert cluster_id(tmp_path) == "mine"


def test_a_damaged_file_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("")
    with pytest.raises(CommandError, match=r"meta.properties has no cluster.id; restore it"):
        cluster_id(tmp_path)


def test_records_belong_to_one_cluster(tmp_path: Path) -> None:
    identity = cluster_id(tmp_path)
    claim(tmp_path, "upstream.cluster.id", "one")
    claim(tmp_path, "upstream.cluster.id", "one")
    with pytest.raises(
        CommandError, match=r"those of upstream.cluster.id=one, not of two; start with that, or"
    ):
        claim(tmp_path, "upstream.cluster.id", "two")
    assert cluster_id(tmp_path) == identity


def test_an_identity_that_cannot_be_written_or_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(identity, "replace_file", full)
    with pytest.raises(CommandError, match=r"meta\.properties cannot be written .*No space left on device"):
        cluster_id(tmp_path)
    (tmp_path / "meta.properties").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match=r"meta\.properties cannot be read"):
        cluster_id(tmp_path)


LIMIT = Config(ResourceType.BROKER, "", "reassignment.max.concurrent.partition.movements", "2")


async def used(folder: Path) -> Path:
    """Return a directory with a record, an identity and ports."""
    store = open_store(folder)
    cluster_id(folder)
    claim(folder, "backend", "embedded")
    await store.commit([LIMIT])
    (folder / "gateway-ports.json").write_text('{"1": 1}\n')
    keep_files(folder)
    store.close()
    return folder


def backup(source: Path, target: Path) -> Path:
    """Copy the database alone, as SQLite's `.backup` does."""
    target.mkdir()
    with (
        closing(sqlite3.connect(source / "records.db")) as one,
        closing(sqlite3.connect(target / "records.db")) as other,
    ):
        one.backup(other)
    return target


async def test_a_backup_of_the_database_has_the_identity_and_the_ports(tmp_path: Path) -> None:
    source = await used(tmp_path / "data")
    restored = backup(source, tmp_path / "restored")
    open_store(restored).close()
    assert cluster_id(restored) == cluster_id(source)
    assert (restored / "gateway-ports.json").read_text() == '{"1": 1}\n'
    with pytest.raises(CommandError, match="those of backend=embedded, not of upstream"):
        claim(restored, "backend", "upstream")


async def test_a_backup_of_moved_records_is_refused_as_they_are(tmp_path: Path) -> None:
    source = await used(tmp_path / "data")
    write_values(source, {"cluster.id": "mine", "moved.to.state.topic": "state"})
    with pytest.raises(CommandError, match="were moved to the state topic state"):
        open_store(backup(source, tmp_path / "restored"))


async def test_records_without_an_identity_are_refused(tmp_path: Path) -> None:
    source = await used(tmp_path / "data")
    with closing(sqlite3.connect(source / "records.db")) as database:
        database.execute("DROP TABLE files")
    with pytest.raises(CommandError, match=r"have no meta\.properties"):
        open_store(backup(source, tmp_path / "restored"))


async def test_a_directory_of_an_earlier_version_gets_its_copies(tmp_path: Path) -> None:
    source = await used(tmp_path / "data")
    with closing(sqlite3.connect(source / "records.db")) as database:
        database.execute("DROP TABLE files")
    open_store(source).close()
    assert copy_of(source, "meta.properties") == (source / "meta.properties").read_text()


def test_a_damaged_database_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match=r"cannot be copied to or from records\.db"):
        copy_of(tmp_path, "meta.properties")
