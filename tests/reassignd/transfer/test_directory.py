"""Directories that cannot be moved are named."""

from pathlib import Path

import pytest

from reassignd.errors import CommandError
from reassignd.transfer.directory import existing, target
from tests.reassignd.transfer.builders import CLUSTER, RECORDS, a_directory, an_entry


async def test_the_contents_of_a_directory_are_read(tmp_path: Path) -> None:
    with existing(await a_directory(tmp_path / "d")) as directory:
        contents = directory.read()
        assert list(directory.entries()) == [[an_entry(1), an_entry(2), an_entry(3)]]
    assert (set(contents.records), contents.ports) == (set(RECORDS), {4: 1})
    assert (contents.newest_entry, contents.meta.upstream_cluster_id) == (an_entry(3), CLUSTER)


def test_a_directory_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"has no records \(records.db is missing\)"), existing(tmp_path):
        pass


async def test_the_records_of_another_backend_are_refused(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    (path / "meta.properties").write_text("cluster.id=a\nbackend=embedded\n")
    with existing(path) as directory, pytest.raises(CommandError, match="no records of a gateway"):
        directory.read()


async def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    with existing(path), pytest.raises(CommandError, match="is in use by process"), existing(path):
        pass


async def test_the_file_of_an_older_version_must_be_read_by_serve_first(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    (path / "throttles.json").write_text("{}")
    with existing(path) as directory, pytest.raises(CommandError, match="start `reassignd serve` once on"):
        directory.read()


def test_a_new_directory_is_created(tmp_path: Path) -> None:
    with target(tmp_path / "new") as directory:
        assert directory.is_empty
