"""Rates over the time in which data was copied."""

from collections import Counter

import pytest

from server.counters import TransferTotals
from server.progress.rates import (
    KEPT_SECONDS,
    LONGEST_SECONDS,
    SAMPLE_SECONDS,
    WINDOW_SECONDS,
    Meter,
    ThroughputHistory,
    ThroughputSample,
    Transfer,
    rounded,
    seconds_left,
)


def meter(*intervals: tuple[float, int, bool, bool]) -> Meter:
    result = Meter()
    for interval in intervals:
        result.add(*interval)
    return result


def test_a_rate_is_known_after_ten_seconds_of_copying() -> None:
    assert meter((WINDOW_SECONDS - 1, 90, True, True)).rate is None
    assert meter((WINDOW_SECONDS - 1, 90, True, True), (1, 10, True, True)).rate == 10


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    old, new = (5.0, 1_000, True, True), (5.0, 10, True, True)
    assert meter(old, old, new, new).rate == 2


def test_an_interval_in_which_the_first_step_starts_does_not_count() -> None:
    assert meter((60.0, 5, False, True), (10.0, 50, True, True)).rate == 5


def test_a_gap_between_two_steps_counts() -> None:
    assert meter((5.0, 50, True, False), (5.0, 0, False, True), (5.0, 50, True, True)).rate == 5


def test_a_pause_starts_anew() -> None:
    assert meter((10.0, 50, True, False), (10.0, 0, False, False)).rate is None


Interval = tuple[float, int, bool, bool]


def bursts(number: int, apart: int, size: int = 100) -> list[Interval]:
    """Return intervals of a second: bursts of bytes that are so many seconds apart."""
    silence = [(1.0, 0, True, True)] * (apart - 1)
    return [each for _ in range(number) for each in [*silence, (1.0, size, True, True)]]


def test_the_rate_of_bursts_is_steady_between_them() -> None:
    counted = meter(*bursts(2, apart=50))
    for interval in bursts(5, apart=50):
        counted.add(*interval)
        assert counted.rate == 2


def test_a_single_burst_has_no_rate() -> None:
    assert meter(*bursts(1, apart=50)).rate is None


def test_silence_before_the_first_bytes_does_not_count() -> None:
    silence: Interval = (60.0, 0, True, True)
    assert meter(silence, *bursts(5, apart=1)).rate is None
    assert meter(silence, *bursts(11, apart=1)).rate == 100


def test_a_burst_that_is_overdue_lowers_the_rate() -> None:
    silence: Interval = (100.0, 0, True, True)
    assert meter(*bursts(2, apart=50), silence).rate == 1
    assert meter(*bursts(2, apart=50), silence, (50.0, 0, True, True)).rate == 0


def test_copying_that_stops_has_a_rate_of_zero_soon() -> None:
    assert meter(*bursts(30, apart=1), (WINDOW_SECONDS, 0, True, True)).rate == 0


def test_bursts_of_long_ago_do_not_count() -> None:
    early = bursts(2, apart=5, size=9_000)
    assert meter(*early, (LONGEST_SECONDS, 0, True, True), *bursts(2, apart=50)).rate == 2


def test_a_meter_keeps_few_intervals() -> None:
    counted = meter(*bursts(20, apart=1), *bursts(20, apart=50), (1e6, 0, True, True), *bursts(9, apart=3))
    assert len(counted._intervals) < 20


@pytest.mark.parametrize(("left", "rate", "seconds"), [(5, None, None), (5, 0, None), (5, 2, 3), (0, 2, 0)])
def test_the_time_left_follows_from_the_rate(left: int, rate: float | None, seconds: int | None) -> None:
    assert seconds_left(left, rate) == seconds


def test_a_rate_is_shown_in_whole_bytes() -> None:
    assert (rounded(None), rounded(1.6)) == (None, 2)


def test_a_sample_has_the_mean_of_its_intervals() -> None:
    kept = ThroughputHistory(lambda: 7)
    kept.add(SAMPLE_SECONDS / 3, Transfer(Counter({1: 900}), Counter({2: 900})), 10)
    assert kept.samples() == []
    kept.add(SAMPLE_SECONDS * 2 / 3, Transfer(Counter({1: 600}), Counter({3: 600})), 20)
    assert kept.samples() == [ThroughputSample(7, 20, {1: 100}, {2: 60, 3: 40})]


def test_a_sample_with_an_unknown_part_is_unknown() -> None:
    kept = ThroughputHistory(lambda: 7)
    kept.add(1.0, Transfer(Counter(), Counter(), {1}, {2}), None)
    kept.add(SAMPLE_SECONDS, Transfer(Counter({1: 5000}), Counter({2: 5000})), None)
    kept.add(SAMPLE_SECONDS, Transfer(Counter(), Counter()), None)
    assert [each[2:] for each in kept.samples()] == [({1: None}, {2: None}), ({}, {})]


def test_totals_go_on_when_samples_begin_anew() -> None:
    totals = TransferTotals()
    for _ in range(2):
        ThroughputHistory(lambda: 7, totals).add(1.0, Transfer(Counter({1: 5}), Counter({2: 5})), None)
    assert (totals.received, totals.sent) == ({1: 10}, {2: 10})


def test_samples_of_an_hour_are_kept() -> None:
    times = iter(range(10_000))
    kept = ThroughputHistory(lambda: next(times))
    for _ in range(1_000):
        kept.add(SAMPLE_SECONDS, Transfer(Counter(), Counter()), None)
    assert len(kept.samples()) == KEPT_SECONDS / SAMPLE_SECONDS
    assert [each.time_ms for each in kept.samples(since_ms=997)] == [998, 999]
