"""The logins of Prometheus servers in a file."""

from pathlib import Path

import pytest

from reassignd.config.errors import SettingError
from reassignd.config.prometheus_logins import read_logins


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "logins"


def test_each_server_has_the_header_of_its_login(file: Path) -> None:
    file.write_text("# Prometheus\nhttps://one:9090/ basic user:pass word\n\nhttps://two bearer abc.def\n")
    assert read_logins(file) == {
        "https://one:9090": "Basic dXNlcjpwYXNzIHdvcmQ=",
        "https://two": "Bearer abc.def",
    }


@pytest.mark.parametrize(
    "line", ["http://a", "http://a bearer", "http://a basic secret", "http://a x secret"]
)
def test_a_line_that_is_no_login_is_named_without_its_secret(file: Path, line: str) -> None:
    file.write_text(f"\n{line}\n")
    with pytest.raises(SettingError, match=r"logins:2: expected URL basic USER:PASSWORD") as refused:
        read_logins(file)
    assert "secret" not in str(refused.value)


def test_a_server_has_one_login(file: Path) -> None:
    file.write_text("http://a bearer one\nhttp://a/ bearer two\n")
    with pytest.raises(SettingError, match="logins:2: http://a is in a line before"):
        read_logins(file)
