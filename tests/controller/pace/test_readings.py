from controller.pace.effort import Activity
from controller.pace.history import KEPT_MS, SAMPLE_MS, History, Point
from controller.pace.pacer import BrokerPace
from controller.pace.readings import Load, Moves, PaceSettings, pace_settings


def test_the_direction_in_which_more_moves_counts() -> None:
    load = Load(Moves(2), Moves(3))
    assert load.in_flight == 3
    assert load.moved(load) == 3
    assert load.lasting(load) == 3


def test_replicas_that_have_arrived_have_moved_and_do_not_last() -> None:
    before, now = Load(Moves(1, ended=4)), Load(Moves(1, ended=7))
    assert now.moved(before) == 4
    assert now.lasting(before) == 0


def test_a_large_replica_lasts_although_small_ones_move_in_the_other_direction() -> None:
    before, now = Load(Moves(1), Moves(1, ended=2)), Load(Moves(1), Moves(1, ended=9))
    assert now.lasting(before) == 1


def test_what_has_begun_since_the_last_reading_does_not_last() -> None:
    assert Load(Moves(5)).lasting(Load(Moves(2))) == 2
    assert Load(Moves(5)).lasting(Load()) == 0


def test_pace_is_off_by_default() -> None:
    assert pace_settings({}) is None
    assert pace_settings({"reassignment.pace": "off"}) is None


def test_the_default_target_is_a_multiple_of_the_idle_latency() -> None:
    settings = pace_settings({"reassignment.pace": "auto"})
    assert settings == PaceSettings()
    assert settings.target(4.0) == 6.0
    assert settings.target(None) is None
    assert settings.text == "1.5 times the idle latency"


def test_a_latency_in_ms_replaces_the_factor() -> None:
    settings = pace_settings(
        {
            "reassignment.pace": "auto",
            "reassignment.pace.produce.latency.ms": "10",
            "reassignment.pace.produce.latency.factor": "3",
            "reassignment.pace.unreachable": "hold",
        }
    )
    assert settings == PaceSettings(10.0, 3.0, holds=True)
    assert settings.target(4.0) == settings.target(None) == 10.0
    assert settings.text == "10 ms"


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
