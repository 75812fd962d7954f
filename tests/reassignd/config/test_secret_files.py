"""Files that hold secrets."""

from pathlib import Path

import pytest

from reassignd.config import command_config
from reassignd.config.secret_files import read_lines, warn_if_open
from reassignd.errors import CommandError

LOGIN = 'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_file_that_others_can_read_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    path = tmp_path / "secret"
    path.touch()
    path.chmod(mode)
    warn_if_open(path, "the token")
    assert (
        f"other users can read the token in {path}; run chmod 600 on the file" in caplog.messages
    ) is warned


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
