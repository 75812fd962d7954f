"""A system of its own, with systemd as its first process and reassignd installed. See booted.sh."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.deploy.programs import program
from tools.waiting import wait_until

SYSTEMD = Path("/lib/systemd/systemd")
SCRIPT = Path(__file__).with_name("booted.sh")
DEPLOY = Path(__file__).parents[2] / "deploy"
NOT_PERMITTED = 77
CGROUPS = Path("/sys/fs/cgroup")


class System:
    """A running system; `first` is the process id of its systemd on this machine."""

    def __init__(self, first: int) -> None:
        self._first = first

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run the command in the system."""
        enter = [program("nsenter", "util-linux"), "--target", str(self._first)]
        kinds = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"]
        return subprocess.run([*enter, *kinds, *command], capture_output=True, text=True, check=False)

    def shell(self, text: str) -> str:
        """Run the text in a shell of the system; return its output."""
        done = self.run("sh", "-ec", text)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def show(self, unit: str, name: str) -> str:
        """Return a property of the unit."""
        return self.run("systemctl", "show", "--value", "--property", name, unit).stdout.strip()


@contextmanager
def booted(wheel: Path, folder: Path) -> Iterator[System]:
    """Install the wheel, boot, and stop at the end. Skips where this machine does not permit it."""
    if os.geteuid() != 0 or not SYSTEMD.exists():
        pytest.skip("a system of its own needs root and systemd (Debian: apt-get install systemd)")
    release, place = shutil.copytree(DEPLOY, folder / "release"), folder / "copy"
    place.mkdir()
    shutil.copy(wheel, release)
    command: list[str | Path] = [
        program("unshare", "util-linux"),
        "--mount",
        "sh",
        SCRIPT,
        "copy",
        place,
        release,
    ]
    log = folder / "boot.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output)
    groups = _own_groups(process.pid)
    try:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stdout is not None
        for line in process.stdout:  # Installing takes as long as pip takes.
            if b"systemctl enable --now reassignd" in line:
                break
        wait_until(lambda: _is_running(process), log.read_text)
        if process.poll() == NOT_PERMITTED:
            pytest.skip(f"no system of its own here: {log.read_text().strip().splitlines()[-1]}")
        assert process.poll() is None, log.read_text()
        yield System(_children(process.pid)[0])
    finally:
        process.kill()  # With --kill-child, systemd ends too, and with it all processes of its namespace.
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        wait_until(lambda: all(map(_removed, groups)), lambda: f"the end of {groups}")


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    """Whether systemd has booted, or cannot."""
    if process.poll() is not None:
        return True
    try:
        [first] = _children(process.pid)
        is_systemd = Path(f"/proc/{first}/comm").read_text() == f"{SYSTEMD.name}\n"
    except (OSError, ValueError):  # It does not exist yet, or is a command of the script that has ended.
        return False
    states = {"running", "degraded"}
    return is_systemd and System(first).run("systemctl", "is-system-running").stdout.strip() in states


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _own_groups(process: int) -> list[Path]:
    """Move the process into control groups of its own: systemd uses the whole tree that it sees."""
    made = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        unified = CGROUPS / "unified" if (CGROUPS / "unified").exists() else CGROUPS
        tree = CGROUPS / controllers.removeprefix("name=") if controllers else unified
        group = tree / path.strip("/") / f"reassignd-test-{process}"
        group.mkdir()
        made.append(group)
        with suppress(OSError):  # A cpuset needs settings first; systemd does not use it.
            (group / "cgroup.procs").write_text(str(process))
    return made


def _removed(group: Path) -> bool:
    """Remove the control group and those in it, when their processes have ended."""
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            Path(folder).rmdir()
    except OSError:
        return False
    return True
