"""Rates as options."""

import pytest

from reassignd.cli import main
from reassignd.commands.options import Where
from reassignd.errors import CommandError


@pytest.mark.parametrize("given", ["0", "50XB", "0.5B"])
def test_an_invalid_throttle_is_reported(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", "plan.json", "--throttle", given]) == 2
    assert f"'{given}', expected" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["0", "50XB", "None"])
def test_an_invalid_throttle_of_a_job_is_reported(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["throttle", "1", given]) == 2
    assert f"'{given}', expected" in capsys.readouterr().err


def test_spark_is_asked_for_by_an_option_or_by_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Where().asked
    assert Where(master="local").asked
    assert Where(remote="sc://localhost").asked
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert Where().asked


def test_what_must_be_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.options.obstacle", lambda url: f"Java for {url}")
    with pytest.raises(CommandError, match=r"no Spark: Java for local\[\*\]"):
        Where().check()
