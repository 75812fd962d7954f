from hypothesis import given
from hypothesis import strategies as st

from controller.pace.window import (
    ENOUGH_IDLE,
    ENOUGH_SHORT,
    FALLEN,
    IDLE_SECONDS,
    MOST_TIMES,
    LatencyWindow,
    Levels,
    quantile,
)


def filled(*rows: tuple[float, float], idle: bool = False) -> LatencyWindow:
    """Return a window with eight equal latencies for each time."""
    window = LatencyWindow()
    for at, value in rows:
        window.add(at, [value] * 8, idle=idle)
    return window


def test_the_short_window_has_the_last_three_seconds() -> None:
    assert filled((1, 50), (2, 50), (3, 4), (4, 4), (5, 4)).short() == 4


def test_where_latencies_are_rare_the_short_window_is_longer() -> None:
    window = LatencyWindow()
    for at in range(0, 20, 2):
        window.add(at, [float(at)], idle=False)
    assert (window.short(), window.seconds()) == (13.0, 10.0)


def test_the_short_window_is_a_mean() -> None:
    window = filled((1, 4), idle=True)
    window.add(2, [4, 4, 4, 4, 20, 4, 4, 20], idle=False)
    assert window.short() == 6


def test_a_single_request_counts_as_a_multiple_of_the_idle_level_at_most() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.add(3, [4] * 7 + [1e6], idle=False)
    assert window.short() == (23 * 4 + MOST_TIMES * 4) / 24


def test_rare_slow_answers_show_in_the_long_window() -> None:
    window = LatencyWindow()
    for at in range(20):
        window.add(at, [4] * 7 + [90 if at % 5 == 0 else 4], idle=False)
    assert window.long() == 90


def test_too_few_latencies_say_nothing() -> None:
    window = LatencyWindow()
    assert (window.short(), window.long(), window.idle) == (None, None, None)
    window.add(1, [4.0] * (ENOUGH_SHORT - 1), idle=True)
    assert (window.short(), window.long(), window.idle) == (None, None, None)


def test_the_idle_level_comes_from_idle_seconds_only() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.add(3, [90.0] * 5, idle=False)
    assert window.idle == Levels(4, 4)


def test_the_idle_level_forgets_old_seconds() -> None:
    window = filled((0, 90), idle=True)
    for at in range(1, int(IDLE_SECONDS) + 2):
        window.add(at, [4.0] * 5, idle=True)
    assert window.idle == Levels(4, 4)


def test_the_last_seconds_can_be_taken_as_idle() -> None:
    window = filled((1, 4), idle=True)
    window.forget_recent()
    for at in (10, 11, 12):
        window.add(at, [8.0] * 5, idle=False)
    window.take_as_idle()
    assert window.idle == Levels(8, 8)


def test_too_few_latencies_are_not_taken_as_idle() -> None:
    window = filled((1, 4), (2, 4), (3, 4), idle=True)
    window.forget_recent()
    window.add(10, [8.0] * (ENOUGH_IDLE - 1), idle=False)
    window.take_as_idle()
    assert window.idle == Levels(4, 4)


def test_the_idle_level_falls_with_the_latencies_of_a_move() -> None:
    window = filled((1, 9), (2, 9), idle=True)
    for at in range(3, 40):
        window.add(at, [9 / FALLEN] * 8, idle=False)
        window.follow_falling_idle()
    assert window.idle == Levels(9, 9)
    for at in range(40, 80):
        window.add(at, [4.0] * 8, idle=False)
        window.follow_falling_idle()
    assert window.idle is not None
    assert window.idle.short == 4


def test_recent_latencies_can_be_forgotten() -> None:
    window = filled((1, 4), (2, 4), idle=True)
    window.forget_recent()
    assert window.short() is None
    assert window.idle == Levels(4, 4)


def test_a_window_without_latencies_stays_as_it_is() -> None:
    window = filled((1, 4), (2, 4))
    window.add(9, [], idle=False)
    assert window.short() == 4


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_quantile_is_one_of_the_values(values: list[float], share: float) -> None:
    assert min(values) <= quantile(values, share) <= max(values)
    assert quantile(values, share) in values
