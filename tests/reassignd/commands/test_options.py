"""Rates as options."""

import pytest

from reassignd.cli import main


@pytest.mark.parametrize("given", ["0", "50XB", "0.5B"])
def test_an_invalid_throttle_is_reported(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", "plan.json", "--throttle", given]) == 2
    assert f"'{given}', expected" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["0", "50XB", "None"])
def test_an_invalid_throttle_of_a_job_is_reported(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["throttle", "1", given]) == 2
    assert f"'{given}', expected" in capsys.readouterr().err
