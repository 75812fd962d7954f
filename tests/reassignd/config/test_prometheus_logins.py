"""The logins of Prometheus servers in a file."""

from pathlib import Path

import pytest

from reassignd.config.errors import SettingError
from reassignd.config.prometheus_logins import prometheus_login, read_logins


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "logins"


def test_each_server_has_the_header_of_its_login(file: Path) -> None:
    file.write_text("# Prometheus\nhttps://one:9090/ basic user:pass word\n\nhttps://two bearer abc.def\n")
    assert read_logins(file) == {
        "https://one:9090": "Basic dXNlcjpwYXNzIHdvcmQ=",
        "https://two": "Bearer abc.def",
    }


def test_a_login_is_that_of_its_server_and_is_read_again(file: Path) -> None:
    file.write_text("http://a basic x:y\n")
    login = prometheus_login(file)
    assert (login("http://a/"), login("http://b")) == ("Basic eDp5", "")
    file.write_text("http://a bearer another\n")
    assert login("http://a") == "Bearer another"
    assert prometheus_login(None)("http://a") == ""


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
