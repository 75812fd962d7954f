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
    assert shown(progress) == (SIZE + 4, 2 * SIZE - 4, None, None)


def shown(progress: DiskProgress) -> tuple[int, int, float | None, int | None]:
    job = progress.of_job(1)
    assert job is not None
    return job.bytes.moved, job.bytes.left, job.rate, job.seconds_left


def test_the_rate_gives_the_time_left(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.look()
    for second in range(8):
        here.copy(1)
        here.look()
        measure(progress, 2.0 * second)
    assert shown(progress) == (8, 3 * SIZE - 8, 0.5, 44)
    assert progress.take_copied() == {1: 7}, "since the first measurement"
    assert progress.take_copied() == {}


def test_an_ended_job_has_no_progress(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.settle()
    measure(progress, 0)
    assert progress.of_job(1) is None


def test_cancelled_moves_have_nothing_left_to_copy(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.look()
    here.copy()
    here.look()
    here.brokers[1].answers = False
    here.cancel(1)
    measure(progress, 0)
    assert shown(progress) == (SIZE, 0, None, 0)


def test_no_time_is_left_while_a_broker_is_down(here: Directories) -> None:
    progress = DiskProgress(here.controller.state)
    here.look()
    for second in range(8):
        here.copy(1)
        here.brokers[1].answers = second < 7
        here.look()
        measure(progress, 2.0 * second)
    assert shown(progress)[3] is None
