from pathlib import Path

import pytest

from reassignd.config.users_file import MAX_LINES, read_users
from reassignd.errors import CommandError


def read(folder: Path, text: str) -> dict[str, str]:
    (folder / "users").write_text(text)
    return dict(read_users(folder / "users"))


def test_a_line_is_a_name_and_a_password(tmp_path: Path) -> None:
    text = "# people\n\nanna  pass word \r\n  bob #1\n"
    assert read(tmp_path, text) == {"anna": "pass word", "bob": "#1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anna x\nbob\n", r"users:2: expected NAME PASSWORD"),
        ("anna x\nanna y", "users:2: anna is in a line before"),
        ("a b\n" * (MAX_LINES + 1), "has more than 10,000 lines"),
    ],
)
def test_an_invalid_line_is_named_without_its_password(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        read_users(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="it is not UTF-8 text"):
        read_users(tmp_path / "bytes")
