"""Bytes of jobs that move replicas between log directories."""

import pytest

from server.progress.disk_progress import DiskProgress
from tests.controller.disks.directories import SIZE, Directories


@pytest.fixture
def here() -> Directories:
    here = Directories()
    here.order(*((name, 1, "/b") for name in here.names))
    return here


def measure(progress: DiskProgress, now: float) -> None:
    for _ in progress.rows(now):
        pass


def test_bytes_are_those_of_done_moves_and_of_copies(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.look()
    here.copy()
    here.look()
    here.copy(4)
    here.look()
    measure(progress, 0)
    assert progress.of_job(1) == (SIZE + 4, 3 * SIZE, None, None)


def test_the_rate_gives_the_time_left(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.look()
    for second in range(8):
        here.copy(1)
        here.look()
        measure(progress, 2.0 * second)
    moved, total, rate, left = progress.of_job(1) or (0, 0, None, None)
    assert (moved, total, left) == (8, 3 * SIZE, 44)
    assert rate == 0, "half a byte per second"


def test_an_ended_job_has_no_progress(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.settle()
    measure(progress, 0)
    assert progress.of_job(1) is None
