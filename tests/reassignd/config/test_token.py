"""The token's file."""

from pathlib import Path

import pytest

from reassignd.config.token import read_token
from reassignd.errors import CommandError


def test_blanks_around_the_token_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" s3cret\n\n")
    assert read_token(tmp_path / "token") == "s3cret"


@pytest.mark.parametrize("text", ["", "two words", "one\ntwo\n"])
def test_a_token_is_one_line_without_blanks(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(CommandError, match="must contain one token"):
        read_token(tmp_path / "token")


def test_an_unreadable_token_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        read_token(tmp_path / "none")
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="not ASCII"):
        read_token(tmp_path / "token")
