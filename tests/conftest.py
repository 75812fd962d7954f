"""The process that runs the tests, and settings of Hypothesis for all of them.

Bytecode is written even where the environment forbids it: otherwise pytest would rewrite and compile all
tests again in each run, and each of the hundreds of processes that tests start would compile all modules.
Children get SIGINT's default handling back, which a shell that runs the tests in the background takes from
them. Tests with a thousand connections need more open files than the 1024 that a shell often allows.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

gc.disable()  # until the tests are collected: imports leave little garbage
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402 - its modules are compiled, too
from hypothesis import HealthCheck, settings  # noqa: E402

from reassignd.runtime.listeners.sockets import allow_files  # noqa: E402
from tests.examples import examples  # noqa: E402
from tests.tools.pip import pip  # noqa: E402
from tools.forks import ForkServer  # noqa: E402
from tools.processes import ServerProcess  # noqa: E402

ROOT = Path(__file__).parents[1]

allow_files(8192)

# No deadline: the machine may be busy with other work.
settings.register_profile(
    "patient", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    """Let servers of tests be forks of a process that has imported what they need."""
    ServerProcess.forks = ForkServer()
    yield
    ServerProcess.forks.stop()
    ServerProcess.forks = None


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    [built] = folder.glob("*.whl")
    return built


def pytest_collection_finish() -> None:
    """Leave out of all later collections of garbage what was imported, and the tests: it stays to the end.

    pytest collects ten times at its end, which took two seconds for each part of the unit tests.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_keyboard_interrupt() -> None:
    """Name the test that runs. The suite interrupts a part that takes too long."""
    sys.stderr.write(f"\ninterrupted in {os.environ.get('PYTEST_CURRENT_TEST', 'no test')}\n")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Collect no garbage while a failure is reported.

    A report parses the source of the test, and so does a finalizer that logs a traceback. CPython 3.11 keeps
    one recursion depth for all parsers (its issue 106905): the outer one ends with a SystemError, which would
    hide the failure and end the run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
