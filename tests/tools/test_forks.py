"""Forks end, and are told of, as other processes."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.forks import Fork, ForkServer

pytestmark = pytest.mark.whole

Start = Callable[..., Fork]

WAITS = "import time; print('waits', flush=True); time.sleep(600)"


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkServer]:
    forks = ForkServer()
    yield forks
    forks.stop()


@pytest.fixture
def start(forks: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Run a program in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def start(program: str, *arguments: str) -> Fork:
        (tmp_path / "program.py").write_text(program)
        monkeypatch.setenv("FROM", "the test")
        with (tmp_path / "errors").open("a") as errors:
            return forks.start("program", arguments, errors.fileno())

    return start


def test_a_fork_has_its_arguments_environment_folder_and_streams(start: Start, tmp_path: Path) -> None:
    program = "import os, sys; print(sys.argv[1:], os.environ['FROM'], os.getcwd()); sys.stderr.write('no')"
    assert start(program, "a", "b c").communicate(60) == (f"['a', 'b c'] the test {tmp_path}\n", None)
    assert (tmp_path / "errors").read_text() == "no"


def test_a_fork_has_no_other_files(start: Start) -> None:
    others = [start(WAITS) for _ in range(2)]
    out, _ = start("import os; print(*sorted(os.listdir('/proc/self/fd')))").communicate(60)
    assert len(out.split()) == 4, "the streams, and the folder that is listed"
    for each in others:
        each.kill()
        each.communicate(60)


@pytest.mark.parametrize(("program", "code"), [("", 0), ("import sys; sys.exit(3)", 3), ("1 / 0", 1)])
def test_the_exit_code_is_told(start: Start, program: str, code: int) -> None:
    fork = start(program)
    assert (fork.wait(60), fork.poll()) == (code, code)
    fork.communicate()


def test_a_fork_ends_by_signals(start: Start) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        fork = start(WAITS)
        assert fork.stdout.readline() == "waits\n"
        with pytest.raises(subprocess.TimeoutExpired):
            fork.wait(0)
        fork.send_signal(number)
        assert (fork.communicate(60), fork.returncode) == (("", None), -number)


def test_ctrl_c_interrupts_a_fork(start: Start) -> None:
    fork = start(WAITS)
    fork.stdout.readline()
    fork.send_signal(signal.SIGINT)
    assert fork.wait(60) == -signal.SIGINT
    fork.communicate()
