"""Servers for the tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reassignd.served import Served, Start
from tests.reassignd.shell import SETTINGS, SLOW, Shell, started


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A cluster with 200 partitions that move in a few seconds."""
    server = started(tmp_path / "data", SETTINGS)
    yield Shell(server, tmp_path, capsys)
    server.kill()


@pytest.fixture
def slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """The same cluster, on which a partition takes a second or more."""
    server = started(tmp_path / "data", SLOW)
    yield Shell(server, tmp_path, capsys)
    server.kill()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process on the test's own data directory; processes that run at the end are killed."""
    started: list[Served] = []

    def start(*arguments: str, http: str = "127.0.0.1:0") -> Served:
        started.append(Served(tmp_path / "data", *arguments, http=http))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()
