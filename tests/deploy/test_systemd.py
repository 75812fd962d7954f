"""The systemd unit: systemd accepts it, and its exposure is low."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.programs import program

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "reassignd.service"

HIGHEST_EXPOSURE = 20
"""In tenths, as `systemd-analyze security --threshold` has it: `OK` ends at 49."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists here, since systemd checks that."""
    text = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/usr/bin/env", UNIT.read_text("utf-8"))
    copy = tmp_path / UNIT.name
    copy.write_text(text, "utf-8")
    return copy


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [program("systemd-analyze", "systemd"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_systemd_accepts_the_unit(unit: Path) -> None:
    done = analyze("verify", "--man=no", unit)
    mine = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, mine) == (0, [])


def test_the_exposure_is_low(unit: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={HIGHEST_EXPOSURE}", unit)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "Type=notify",
        "WatchdogSec=30",
        "DynamicUser=yes",
        "ProtectSystem=strict",
        "StateDirectory=reassignd",
        "RestartPreventExitStatus=2",
    ],
)
def test_the_unit_has_what_the_documentation_promises(line: str) -> None:
    assert line in UNIT.read_text("utf-8").splitlines()
