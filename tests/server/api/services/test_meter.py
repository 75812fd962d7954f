"""Rates over the time in which data was copied."""

import pytest

from server.api.services.meter import LONGEST_SECONDS, WINDOW_SECONDS, Meter, rounded, seconds_left


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
