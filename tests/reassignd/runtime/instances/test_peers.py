"""The secret that the instances share."""

from pathlib import Path

import pytest

from reassignd.errors import CommandError
from reassignd.runtime.instances.peers import read_secret


def test_the_secret_is_the_text_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text("0123456789abcdef\n")
    assert read_secret(file) == b"0123456789abcdef"


def test_instances_need_a_secret() -> None:
    with pytest.raises(CommandError, match=r"state=topic needs gateway\.peer\.secret\.file"):
        read_secret(None)


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")
    with pytest.raises(CommandError, match="has 5 bytes; at least 16 are needed"):
        read_secret(tmp_path / "secret")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read the secret in .*: No such file"):
        read_secret(tmp_path / "none")
