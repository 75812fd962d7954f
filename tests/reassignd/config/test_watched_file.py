"""Files that are read anew when they have changed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reassignd.config.errors import CommandError
from reassignd.config.secret_files import read_token
from reassignd.config.watched_file import WatchedFile


def replace(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace the file as editors do; the new file has another inode."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(mode)
    new.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    replace(tmp_path / "token", "old")
    return tmp_path / "token"


def test_changed_content_is_read(path: Path) -> None:
    watched = WatchedFile(path, read_token, "the token")
    assert watched.current() == "old"
    replace(path, "new")
    assert watched.current() == "new"


def test_an_unchanged_file_is_not_read_again(path: Path) -> None:
    reads: list[Path] = []
    watched = WatchedFile(path, reads.append, "the token")
    watched.current()
    watched.current()
    assert len(reads) == 1


def test_an_invalid_file_is_an_error_at_the_start(path: Path) -> None:
    replace(path, "two words")
    with pytest.raises(CommandError):
        WatchedFile(path, read_token, "the token")


@pytest.mark.parametrize("change", [lambda path: replace(path, "two words"), os.unlink])
def test_an_invalid_change_is_logged_once_and_has_no_effect(
    path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Path], None]
) -> None:
    watched = WatchedFile(path, read_token, "the token")
    change(path)
    assert [watched.current(), watched.current()] == ["old", "old"]
    assert caplog.text.count("the last valid content of the file remains in force") == 1


def test_a_mode_that_lets_others_read_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watched = WatchedFile(path, read_token, "the token")
    assert caplog.text == ""
    path.chmod(0o644)
    watched.current()
    assert "other users can read the token" in caplog.text
