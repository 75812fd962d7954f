"""Files that hold secrets."""

import os
from pathlib import Path

import pytest

from reassignd.config import command_config
from reassignd.config.errors import CommandError
from reassignd.config.secret_files import other_readers, read_lines, read_token, warn_if_open

LOGIN = (
    "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="a" password="b";'
)


@pytest.mark.parametrize(
    ("mode", "readers"),
    [(0o600, None), (0o400, None), (0o640, f"the group {os.getegid()}"), (0o604, "other users")],
)
def test_a_file_that_others_can_read_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, readers: str | None
) -> None:
    path = tmp_path / "secret"
    path.touch()
    path.chmod(mode)
    warn_if_open(path, "the token")
    line = f"{readers} can read the token in {path}; run chmod 600 on the file"
    assert caplog.messages == ([] if readers is None else [line])


@pytest.mark.parametrize(
    ("owner", "group", "mode", "readers"),
    [
        (0, 65532, 0o440, None),
        (0, 65533, 0o440, None),
        (0, 7, 0o440, "the group 7"),
        (0, 65532, 0o444, "other users"),
        (65532, 65532, 0o440, "the group 65532"),
    ],
)
def test_a_mounted_secret_may_be_readable_for_a_group_of_the_process(
    monkeypatch: pytest.MonkeyPatch, owner: int, group: int, mode: int, readers: str | None
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65532)
    monkeypatch.setattr(os, "getegid", lambda: 65532)
    monkeypatch.setattr(os, "getgroups", lambda: [65533])
    assert other_readers(os.stat_result((mode, 0, 0, 1, owner, group, 0, 0, 0, 0))) == readers


def test_a_missing_file_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_open(tmp_path / "none", "the token")
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("line", "warned"), [(LOGIN, True), ("ssl.key.password=x", True), ("security.protocol=SSL", False)]
)
def test_a_command_config_with_passwords_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, warned: bool
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(line)
    path.chmod(0o644)
    command_config.ClientProperties(path)
    assert (
        f"other users can read the passwords or keys in {path}; run chmod 600 on the file" in caplog.messages
    ) is warned


def test_lines_are_numbered_without_comments_and_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("# names\n\nalice secret\n  # more\nbob other\n")
    assert read_lines(path, 5) == {3: "alice secret", 5: "bob other"}
    with pytest.raises(CommandError, match="has more than 4 lines"):
        read_lines(path, 4)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="users: No such file"):
        read_lines(tmp_path / "users", 5)
    (tmp_path / "users").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="users: it is not UTF-8 text"):
        read_lines(tmp_path / "users", 5)


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
