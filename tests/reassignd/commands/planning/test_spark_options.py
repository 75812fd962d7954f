import pytest

from reassignd.commands.planning.spark_options import Where
from reassignd.errors import CommandError


def test_spark_is_asked_for_by_an_option_or_by_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Where().asked
    assert Where(master="local").asked
    assert Where(remote="sc://localhost").asked
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert Where().asked


def test_what_must_be_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.planning.spark_options.obstacle", lambda url: f"Java for {url}")
    with pytest.raises(CommandError, match=r"no Spark: Java for local\[\*\]"):
        Where().check()
