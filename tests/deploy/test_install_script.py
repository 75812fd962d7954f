"""deploy/install.sh below another root.

It makes the environment, the unit and the settings, and removes them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "install.sh"


def run(destination: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    places = {"DESTDIR": str(destination), "PYTHON": sys.executable}
    # Most of what pip installs is not imported here: only that is compiled.
    environment = {**os.environ, "PIP_COMPILE": "0", **places, **more}
    return subprocess.run(
        ["sh", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False
    )


def pins(lines: list[str]) -> set[str]:
    """Return the NAME==VERSION of the lines of a requirements file or of `pip freeze`, with normal names."""
    return {line.partition(" ")[0].lower().replace("_", "-") for line in lines if "==" in line}


@pytest.mark.whole
def test_it_installs_and_updates_and_keeps_settings_and_removes(wheel: Path, tmp_path: Path) -> None:
    command = tmp_path / "opt" / "reassignd" / "bin" / "reassignd"
    settings = tmp_path / "etc" / "reassignd" / "reassignd.properties"
    link = tmp_path / "usr" / "local" / "bin" / "reassignd"
    link.parent.mkdir(parents=True)
    link.write_text("another program")
    done = run(tmp_path, wheel)
    assert done.returncode == 0, done.stderr
    assert "systemctl enable --now reassignd" in done.stdout
    assert f"{link} is another program and is left" in done.stdout
    assert link.read_text() == "another program"
    assert (tmp_path / "etc" / "systemd" / "system" / "reassignd.service").exists()
    check = [str(command), "serve", "--config", str(settings), "--check-config"]
    assert (
        "the settings are valid" in subprocess.run(check, capture_output=True, text=True, check=True).stdout
    )
    link.unlink()
    settings.write_text("log.level=WARN\n")
    [package] = command.parents[1].glob("lib/python*/site-packages/reassignd/__init__.py")
    package.write_text("damaged")
    requirements = ROOT / "requirements" / "run.txt"
    done = run(tmp_path, "--requirements", requirements, wheel)
    assert done.returncode == 0, done.stderr
    assert "systemctl restart reassignd" in done.stdout
    assert "enable --now" not in done.stdout
    assert "damaged" not in package.read_text()
    freeze = [str(command.with_name("python")), "-m", "pip", "freeze"]
    installed = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout.splitlines()
    assert pins(installed) <= pins(requirements.read_text().splitlines())
    assert settings.read_text() == "log.level=WARN\n"
    assert link.readlink() == command
    assert run(tmp_path, "--remove").returncode == 0
    assert not command.exists()
    assert not link.is_symlink()
    assert settings.exists()


def test_help_is_the_usage(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "Install reassignd as a systemd service, from a wheel: ./install.sh [--extras"
    )
    assert done.stdout.splitlines()[-1].startswith("PIP_ARGS has further arguments of pip")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_option_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "--prefix")
    assert done.returncode == 1
    assert done.stderr == "install.sh: unknown option --prefix; see ./install.sh --help\n"


def test_a_missing_wheel_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path / "no.whl")
    assert done.returncode == 1
    assert done.stderr == f"install.sh: there is no file {tmp_path / 'no.whl'}\n"


def test_an_old_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python2"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (tmp_path / "r.whl").touch()
    done = run(tmp_path, tmp_path / "r.whl", PYTHON=str(old))
    assert done.stderr == f"install.sh: {old} is older than 3.11: set PYTHON\n"
