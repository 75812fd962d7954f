"""What is remembered of the life of jobs."""

from controller.messages.job_events import Pause
from controller.model.configs import SCHEDULE
from server.progress.job_history import (
    FIRST_SECONDS,
    MOST_CHANGES,
    MOST_JOBS,
    MOST_SAMPLES,
    JobHistory,
    JobSample,
    JobSamples,
)
from tests.controller.disks.directories import Directories
from tests.server.api.api_client import three_partitions


def filled(count: int, seconds: float = FIRST_SECONDS) -> JobSamples:
    samples = JobSamples()
    for number in range(1, count + 1):
        samples.add(JobSample(1000 * number, seconds, 10, number, None))
    return samples


def test_short_intervals_are_joined() -> None:
    [first, *_] = filled(20, 1.0).samples
    assert first == JobSample(5_000, 5.0, 50, 5, None)


def test_a_long_life_has_longer_samples_and_no_byte_is_lost() -> None:
    count = 7 * MOST_SAMPLES + 3
    samples = filled(count).samples
    assert len(samples) <= MOST_SAMPLES
    assert sum(each.copied for each in samples) == 10 * count
    assert samples[-1].ended == count
    assert [each.time_ms for each in samples] == sorted(each.time_ms for each in samples)


def test_brokers_that_stop_and_start_are_remembered() -> None:
    controller = three_partitions()
    kept = JobHistory(controller.state, lambda: controller.now_ms)
    kept.look()
    assert (kept.since_ms, list(kept.brokers)) == (controller.now_ms, [])
    controller.stop(6)
    kept.look()
    controller.start(6)
    kept.look()
    kept.look()
    assert [each[1:] for each in kept.brokers] == [(6, False), (6, True)]
    for _ in range(MOST_CHANGES):
        controller.stop(6)
        kept.look()
        controller.start(6)
        kept.look()
    assert len(kept.brokers) == MOST_CHANGES


def test_moves_between_directories_have_only_the_throttle_of_their_job() -> None:
    here = Directories()
    here.order(("foo-0", 1, "/b"), throttle=7)
    here.order(("foo-1", 1, "/b"))
    kept = JobHistory(here.controller.state, lambda: 0)
    kept.add(5.0, {1: 3, 2: 3}, 50)
    assert [kept.samples(job)[0].throttle for job in (1, 2)] == [7, None]


def test_what_holds_all_jobs_is_remembered_but_not_a_pause() -> None:
    controller = three_partitions()
    kept = JobHistory(controller.state, lambda: controller.now_ms)
    kept.look()
    controller.do(Pause(None, True))
    kept.look()
    assert not kept.holds
    controller.do(Pause(None, False))
    controller.now_ms = 12 * 3_600_000
    controller.default(SCHEDULE, "00:00-00:01")
    kept.look()
    controller.default(SCHEDULE, None)
    kept.look()
    assert [bool(each.reason) for each in kept.holds] == [True, False]


def test_a_job_is_remembered_from_its_first_byte_on() -> None:
    controller = three_partitions()
    kept = JobHistory(controller.state, lambda: controller.now_ms)
    controller.alter({"foo-0": [4, 2, 3]})
    for size in (0, 3, 0):
        kept.add(5, {1: size}, None)
    assert [each.copied for each in kept.samples(1)] == [3, 0]


def test_deleted_jobs_and_the_oldest_ended_ones_are_forgotten() -> None:
    controller = three_partitions()
    kept = JobHistory(controller.state, lambda: controller.now_ms)
    kept.add(5, {9: 1}, None)
    kept.add(5, {}, None)
    assert kept.samples(9) == []
    for number in range(MOST_JOBS + 2):
        controller.alter({"foo-0": [4 + number % 2, 2, 3]})
        kept.add(5, {number + 1: 1}, None)
    kept.add(5, {}, None)
    jobs = sorted(controller.state.orders.jobs)
    assert [job for job in jobs if kept.samples(job)] == jobs[-MOST_JOBS:]
