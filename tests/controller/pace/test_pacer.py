"""Pace in virtual time, against `simulation.EmbeddedBrokers`."""

from collections.abc import Callable
from statistics import median
from typing import Any
from unittest.mock import Mock

import pytest

from controller.model.limits import UNLIMITED
from controller.pace.effort import FLOOR, START, Activity
from controller.pace.latency import LatencyWindow, ProbeKey
from controller.pace.pacer import BLIND_WINDOW, Pacer
from controller.pace.rates import DEFAULT_UNIT
from controller.pace.readings import Copied, Load, Moves, PaceMeasured, PaceSettings, Probe, Source
from tests.controller.pace.simulation import EmbeddedBrokers

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(1, 4))]
"""Most of them run with the longer tests."""


def fast(**values: object) -> EmbeddedBrokers:
    """Return a cluster whose brokers can copy several replicas at once."""
    cluster = EmbeddedBrokers(capacity=1e9, produced=2e8, **values)  # type: ignore[arg-type]
    cluster.run(30)
    return cluster


def latest(cluster: EmbeddedBrokers, broker: int) -> float:
    """Return the effort of the broker."""
    effort = cluster.pacer.brokers[broker].effort
    assert effort is not None
    return effort


def with_silent_broker(broker: int) -> EmbeddedBrokers:
    """Return a cluster in mid-plan, of which one broker has not answered the canary in the last second."""
    cluster = fast()
    cluster.plan(1000)
    cluster.run(20)
    cluster.silent = {broker}
    cluster.second()
    return cluster


def mean_copied(cluster: EmbeddedBrokers, broker: int, seconds: int) -> float:
    """Let the seconds pass; return what the broker copies in one of them."""
    total = 0.0
    for _ in range(seconds):
        cluster.second()
        total += cluster.copied[broker]
    return total / seconds


@pytest.mark.parametrize("seed", SEEDS)
def test_the_latency_stays_within_the_target_and_the_plan_ends(seed: int) -> None:
    cluster = fast(seed=seed)
    cluster.plan(400)
    assert cluster.until_done() < 250
    assert cluster.slow_share(first=10) < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_brokers_for_which_one_replica_is_too_much_are_throttled(seed: int) -> None:
    cluster = EmbeddedBrokers(seed=seed)
    cluster.run(30)
    cluster.plan(20, size=2e9)
    cluster.run(60)
    assert any(row.rate is not None for row in cluster.pacer.brokers.values())
    cluster.until_done()
    assert cluster.slow_share(first=15) < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_oscillates_under_a_constant_load(seed: int) -> None:
    cluster = fast(seed=seed)
    cluster.plan(100_000)
    cluster.run(120)
    before = cluster.pacer.reversals
    cluster.run(600)
    # Four brokers: each changes its direction at most once a minute.
    assert cluster.pacer.reversals - before <= 4 * 10


def test_pace_yields_to_a_neighbour_within_five_seconds_and_comes_back_within_thirty() -> None:
    cluster = fast()
    cluster.plan(100_000)
    cluster.run(100)
    copied, effort = cluster.copied[2], latest(cluster, 2)
    cluster.neighbours[2] = 5e8
    cluster.run(5)
    assert cluster.copied[2] < copied / 2
    cluster.run(60)
    cluster.neighbours[2] = 0
    cluster.run(30)
    assert cluster.copied[2] > copied / 2
    assert latest(cluster, 2) > effort / 2


def test_a_neighbour_slows_only_the_moves_of_its_broker() -> None:
    cluster = fast(count=8)
    cluster.plan(100_000)
    cluster.run(40)
    before, slowed = latest(cluster, 6), latest(cluster, 2)
    cluster.neighbours[2] = 5e8
    cluster.run(8)
    assert latest(cluster, 2) < slowed
    assert latest(cluster, 6) >= before * 0.7


def test_a_busy_cluster_is_not_taken_for_the_effect_of_the_move() -> None:
    cluster = fast()
    cluster.plan(100_000)
    cluster.run(30)
    for broker in cluster.neighbours:
        cluster.neighbours[broker] = 4e8
    cluster.run(120)
    # The latency without the move has risen to 5 ms: comparisons have found that.
    rows = [row.target for row in cluster.pacer.brokers.values() if row.target is not None]
    assert rows
    assert max(rows) > 6
    assert sum(cluster.copied.values()) > 4 * 10e6


def test_the_effort_does_not_grow_before_something_moves() -> None:
    cluster = fast()
    assert latest(cluster, 1) == START
    cluster.plan(1000)
    cluster.run(10)
    assert latest(cluster, 1) > 1


def test_the_throttle_of_one_broker_does_not_make_the_others_slower() -> None:
    cluster = fast()
    cluster.plan(1000, size=1e9)
    cluster.run(20)
    cluster.neighbours[1] = 8e8
    cluster.run(60)
    cluster.neighbours[1] = 0
    cluster.run(60)
    assert mean_copied(cluster, 3, 60) > 20e6


def test_small_replicas_that_arrive_between_readings_let_the_effort_grow() -> None:
    cluster = fast()
    cluster.plan(10_000, size=25e6)
    cluster.run(10)
    assert cluster.moving == []
    assert all(latest(cluster, broker) > 2 * START for broker in cluster.neighbours)


def steady(pacer: Pacer, seconds: range, load: Callable[[int], Load], latency: float = 4.0) -> None:
    """Let broker 1 have these loads and this latency; the target is 10 ms."""
    for at in seconds:
        reading = PaceMeasured(at, Source.CANARY, [Probe(1, (), [latency] * 5)], {})
        pacer.tick(reading, PaceSettings(10), {1: load(at)}, frozenset())


def test_an_effort_that_others_limit_does_not_grow_with_what_arrives() -> None:
    pacer = Pacer()
    steady(pacer, range(200), lambda at: Load(Moves(1, ended=100 * at)))
    assert (pacer.brokers[1].effort or 0) < 4


def test_a_replica_left_the_isr_while_small_ones_arrived_between_readings() -> None:
    pacer = Pacer()
    steady(pacer, range(20), lambda at: Load(Moves(0, ended=10 * at)))
    reading = PaceMeasured(20, Source.CANARY, [Probe(1, (), [4.0] * 5)], {})
    pacer.tick(reading, PaceSettings(10), {1: Load(Moves(0, ended=200))}, {1})
    assert pacer.brokers[1].effort == FLOOR


def test_a_lasting_replica_does_not_keep_others_waiting() -> None:
    pacer = Pacer()
    steady(pacer, range(30), lambda at: Load(Moves(1), throttled_by_others=True), latency=100.0)
    assert pacer.brokers[1].effort == FLOOR
    assert pacer.cluster_window == 2


def test_small_replicas_take_turns_instead_of_a_throttle() -> None:
    cluster = EmbeddedBrokers()
    cluster.run(30)
    cluster.plan(400, size=20e6)
    for _ in range(100):
        cluster.second()
        assert all(row.rate is None for row in cluster.pacer.brokers.values())


def test_brokers_do_not_have_their_turns_at_the_same_time() -> None:
    cluster = fast()
    assert cluster.pacer.cluster_window == int(4 * START)
    cluster.plan(1000, size=25e6)
    for _ in range(15):
        cluster.second()
        efforts = sum(latest(cluster, broker) for broker in cluster.neighbours)
        assert cluster.pacer.cluster_window == max(1, int(efforts))
    assert cluster.pacer.cluster_window > 4


def test_without_producers_nothing_is_slowed() -> None:
    cluster = fast()
    cluster.produced = 0
    cluster.plan(100)
    cluster.run(3)
    assert {row.window for row in cluster.pacer.brokers.values()} == {None}
    assert cluster.pacer.cluster_window == UNLIMITED
    assert "no producer writes" in cluster.pacer.brokers[1].reason


def test_a_shrunken_isr_slows_its_broker_to_the_floor_at_once() -> None:
    cluster = fast()
    cluster.plan(1000)
    cluster.run(20)
    cluster.shrunk = {3}
    cluster.second()
    assert latest(cluster, 3) == FLOOR
    assert cluster.pacer.brokers[3].activity is Activity.BACKING_OFF
    assert cluster.pacer.brokers[3].rate is not None
    cluster.run(30)
    assert latest(cluster, 3) > FLOOR


def test_a_canary_that_is_not_answered_slows_its_broker_to_the_floor_at_once() -> None:
    cluster = with_silent_broker(3)
    assert latest(cluster, 3) == FLOOR


def test_a_target_that_cannot_be_kept_is_said_in_one_line_and_the_plan_goes_on() -> None:
    cluster = fast(settings=PaceSettings(1.0))
    cluster.plan(40, size=1e9)
    cluster.run(60)
    assert cluster.pacer.problem == ("cannot keep 1 ms at broker 1: although as little moves as possible")
    assert {row.window for row in cluster.pacer.brokers.values()} == {1}
    assert cluster.moved_bytes > 0
    assert cluster.pacer.reversals <= 4


def test_with_hold_a_target_that_cannot_be_kept_starts_no_steps() -> None:
    cluster = fast(settings=PaceSettings(1.0, holds=True))
    cluster.plan(4000)
    cluster.run(60)
    assert {row.window for row in cluster.pacer.brokers.values()} == {0}


def test_a_throttle_is_never_below_what_producers_write_to_the_moving_partitions() -> None:
    cluster = fast(settings=PaceSettings(1.0), floors=dict.fromkeys(range(1, 5), 40e6))
    cluster.plan(400, size=5e9)
    cluster.run(60)
    assert cluster.pacer.problem == (
        "cannot keep 1 ms at broker 1: the partitions that move take 48 MB/s of producers' data"
    )
    assert {row.rate for row in cluster.pacer.brokers.values()} == {48_000_000}


@pytest.mark.parametrize("factor", [0, 1e-6, 1e6])
def test_wrong_sizes_only_cost_time(factor: float) -> None:
    cluster = EmbeddedBrokers()
    cluster.run(30)
    cluster.reported = factor
    cluster.plan(40)
    cluster.until_done()
    assert cluster.pacer.reversals < 60


@pytest.mark.parametrize("seconds", [-500.0, 500.0, 1e9])
def test_after_a_jump_of_the_clock_the_move_goes_on_with_small_efforts(seconds: float) -> None:
    cluster = fast()
    cluster.plan(100_000)
    cluster.run(60)
    cluster.now += seconds
    cluster.second()
    assert all(latest(cluster, broker) <= 4 for broker in cluster.neighbours)
    cluster.run(60)
    assert cluster.copied[1] > 0
    assert cluster.slow_share(first=70) < 0.1


def test_when_the_canary_is_lost_round_trips_are_learned_anew() -> None:
    cluster = fast()
    cluster.plan(100_000)
    cluster.run(30)
    cluster.source = Source.ROUND_TRIPS
    cluster.second()
    assert [row.activity for row in cluster.pacer.brokers.values()] == [Activity.LEARNING] * 4
    cluster.run(10)
    assert Activity.LEARNING not in {row.activity for row in cluster.pacer.brokers.values()}
    assert any(row.target is not None for row in cluster.pacer.brokers.values())


def test_without_measurements_few_replicas_move() -> None:
    cluster = fast(source=Source.NONE)
    cluster.plan(40)
    cluster.run(10)
    assert {row.window for row in cluster.pacer.brokers.values()} == {BLIND_WINDOW}
    cluster.until_done()


def test_after_a_restart_in_mid_plan_it_compares_before_it_moves() -> None:
    cluster = EmbeddedBrokers(capacity=1e9, produced=2e8)
    cluster.plan(1000)
    cluster.run(2)
    assert cluster.pacer.comparing
    assert {row.window for row in cluster.pacer.brokers.values()} == {0}
    cluster.run(20)
    assert cluster.pacer.brokers[1].target == pytest.approx(1.5 * cluster.idle_ms(), rel=0.5)


def test_the_log_gets_a_line_for_each_stop_comparison_and_problem_once() -> None:
    cluster = fast(settings=PaceSettings(1.0))
    cluster.plan(1000)
    told = []
    for _ in range(60):
        cluster.second()
        told += cluster.pacer.log_lines()
    assert told.count("cannot keep 1 ms at broker 1: although as little moves as possible") == 1
    assert sum("broker 1 moves as little as possible" in line for line in told) == 1
    assert cluster.pacer.log_lines() == []
    cluster = EmbeddedBrokers(capacity=1e9, produced=2e8)
    cluster.plan(1000)
    cluster.run(2)
    assert cluster.pacer.log_lines() == [
        "little moves for some seconds, to measure the latency without the move"
    ]


def told_by(pacer: Pacer, seconds: range, latency: float, problem: str = "") -> list[str]:
    """Return the news of these seconds about a broker to which one replica moves; the target is 10 ms."""
    source = Source.ROUND_TRIPS if problem else Source.CANARY
    lines: list[str] = []
    for second in seconds:
        probes, copied = [Probe(1, (), [latency] * 5)], {1: Copied(1e6, 1)}
        reading = PaceMeasured(second, source, probes, copied, problem=problem)
        pacer.tick(reading, PaceSettings(10), {1: Load(Moves(1))}, frozenset())
        lines += pacer.log_lines()
    return lines


def test_after_a_problem_of_the_canary_the_log_says_that_the_latency_is_measured_again() -> None:
    pacer = Pacer()
    assert told_by(pacer, range(10), 1, "the canary topic is missing") == ["the canary topic is missing"]
    assert told_by(pacer, range(10, 20), 1) == ["the latency is measured again: pace follows canary produces"]


def test_after_a_target_that_was_not_kept_the_log_says_that_it_can_be_kept() -> None:
    pacer = Pacer()
    assert told_by(pacer, range(30), 100)[-1].startswith("cannot keep 10 ms at broker 1")
    assert told_by(pacer, range(30, 120), 1) == ["the target can be kept again"]


def test_a_copy_that_the_other_end_throttles_does_not_show_how_fast_a_broker_is() -> None:
    pacer, loads = Pacer(), {1: Load(Moves(1)), 2: Load(Moves(1))}

    def follow(seconds: range, rate: float, *latencies: float) -> None:
        for at in seconds:
            probes = [Probe(broker, (), [latency] * 5) for broker, latency in enumerate(latencies, 1)]
            copied = dict.fromkeys(loads, Copied(rate, 1))
            pacer.tick(PaceMeasured(at, Source.CANARY, probes, copied), PaceSettings(10), loads, frozenset())

    follow(range(12), DEFAULT_UNIT, 100, 1)
    assert pacer.brokers[1].rate is not None
    assert pacer.brokers[2].rate is None
    follow(range(12, 60), 1e5, 100, 1)
    follow(range(60, 90), 1e5, 100, 100)
    assert pacer.brokers[2].rate == pytest.approx(DEFAULT_UNIT * FLOOR, rel=0.01)


def test_a_throttle_whose_use_is_not_measured_any_more_may_grow() -> None:
    pacer, loads = Pacer(), {1: Load(Moves(1))}

    def follow(seconds: range, latency: float, copied: dict[int, Copied]) -> None:
        for at in seconds:
            probes = [Probe(1, (), [latency] * 5)]
            pacer.tick(PaceMeasured(at, Source.CANARY, probes, copied), PaceSettings(10), loads, frozenset())

    follow(range(20), 100, {1: Copied(1.0, 1)})
    follow(range(20, 60), 1, {1: Copied(1.0, 1)})
    assert pacer.brokers[1].reason == "less moves than may"
    follow(range(60, 130), 1, {})
    assert pacer.brokers[1].effort is not None
    assert pacer.brokers[1].effort > 2 * FLOOR


def test_where_others_have_set_a_throttle_turns_slow_the_plan() -> None:
    pacer = Pacer()
    windows: list[int] = []
    for at in range(60):
        moving = bool(windows) and windows[-1] > 0
        loads = {1: Load(Moves(int(moving)), throttled_by_others=True)}
        probes = [Probe(1, (), [100.0] * 5)]
        pacer.tick(PaceMeasured(at, Source.CANARY, probes, {}), PaceSettings(10), loads, frozenset())
        assert pacer.brokers[1].rate is None
        windows.append(pacer.brokers[1].window or 0)
    assert windows.count(1) == pytest.approx(60 * FLOOR, abs=3)


def test_after_a_back_off_the_previous_latency_is_shown_until_there_are_new_ones() -> None:
    cluster = with_silent_broker(3)
    row = cluster.pacer.brokers[3]
    assert row.activity is Activity.BACKING_OFF
    assert row.latency is not None
    assert row.target is not None


@pytest.mark.parametrize("brokers", [4, 8, 16])
def test_a_tick_takes_the_medians_of_all_brokers_once(monkeypatch: pytest.MonkeyPatch, brokers: int) -> None:
    cluster = fast(count=brokers)
    counted = Mock(wraps=median)
    monkeypatch.setattr("controller.pace.pacer.median", counted)
    cluster.second()
    # One of the short levels, and one of the long ones.
    assert counted.call_count == 2
    assert all(len(call.args[0]) == brokers for call in counted.call_args_list)


class CountedPasses(dict[ProbeKey, LatencyWindow]):
    """Counts how often somebody goes over all windows."""

    passes = 0

    def items(self) -> Any:
        self.passes += 1
        return super().items()

    def values(self) -> Any:
        self.passes += 1
        return super().values()


def passes_of_a_tick(brokers: int) -> int:
    """Return how often a tick goes over all windows if all brokers stop."""
    cluster = fast(count=brokers)
    cluster.plan(1000)
    cluster.run(20)
    windows = cluster.pacer._windows = CountedPasses(cluster.pacer._windows)
    cluster.silent = set(cluster.neighbours)
    cluster.second()
    return windows.passes


def test_a_tick_goes_over_the_probes_as_often_with_more_brokers() -> None:
    assert passes_of_a_tick(4) == passes_of_a_tick(8) == passes_of_a_tick(16)
