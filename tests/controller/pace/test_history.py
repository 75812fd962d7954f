from controller.pace.effort import Activity
from controller.pace.history import KEPT_MS, SAMPLE_MS, History, Point
from controller.pace.pacer import BrokerPace

ROW = BrokerPace(3, 4.0, 6.0, 2.0, 2, None, Activity.HOLDING, "")


def test_a_sample_is_kept_every_five_seconds() -> None:
    history = History()
    for at in range(SAMPLE_MS, 4 * SAMPLE_MS, 1000):
        history.add(at, [ROW])
    assert [sample.time_ms for sample in history.samples()] == [SAMPLE_MS, 2 * SAMPLE_MS, 3 * SAMPLE_MS]
    assert history.samples()[0].rows == [Point(3, 4.0, 6.0, 2.0)]


def test_only_samples_after_a_time_are_returned_and_old_ones_are_dropped() -> None:
    history = History()
    for at in range(SAMPLE_MS, 2 * KEPT_MS, SAMPLE_MS):
        history.add(at, [ROW])
    assert len(history.samples()) == KEPT_MS // SAMPLE_MS
    assert len(history.samples(2 * KEPT_MS - 2 * SAMPLE_MS)) == 1


def test_times_increase_when_the_clock_is_set_back() -> None:
    history = History()
    history.add(100_000, [ROW])
    history.add(50_000, [ROW])
    assert [sample.time_ms for sample in history.samples()] == [100_000, 100_001]
