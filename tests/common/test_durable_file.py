import os
from pathlib import Path

import pytest

from common.durable_file import open_private, remove_file, replace_file


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for text in ("one", "two"):
        replace_file(path, text)
        assert path.read_text("utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.json"
    replace_file(path, "old")

    def full(_: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        replace_file(path, "new")
    assert path.read_text("utf-8") == "old"


def test_the_temporary_file_of_a_crashed_process_is_not_reused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "kept.new").symlink_to(elsewhere)
    replace_file(tmp_path / "kept.json", "text")
    assert not elsewhere.exists()
    assert (tmp_path / "kept.json").stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        open_private(tmp_path / "link", os.O_WRONLY)


def test_a_file_is_removed(tmp_path: Path) -> None:
    replace_file(tmp_path / "kept.json", "text")
    remove_file(tmp_path / "kept.json")
    assert list(tmp_path.iterdir()) == []
