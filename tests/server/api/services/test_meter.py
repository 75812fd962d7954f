"""Rates over the time in which data was copied."""

import pytest

from server.api.services.meter import WINDOW_SECONDS, Meter, rounded, seconds_left


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


@pytest.mark.parametrize(("left", "rate", "seconds"), [(5, None, None), (5, 0, None), (5, 2, 3), (0, 2, 0)])
def test_the_time_left_follows_from_the_rate(left: int, rate: float | None, seconds: int | None) -> None:
    assert seconds_left(left, rate) == seconds


def test_a_rate_is_shown_in_whole_bytes() -> None:
    assert (rounded(None), rounded(1.6)) == (None, 2)
