import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.pace.effort import (
    CALM_LIMIT,
    CALM_PROBE_SECONDS,
    DOUBTED,
    FIRST_PROBE_SECONDS,
    FLOOR,
    HARD_PAUSE_SECONDS,
    LAST_PROBE_SECONDS,
    LEAST_CUT,
    MARGIN,
    MOST_DEBT,
    MOST_GROWTH,
    PROBE_GROWTH,
    SETTLE_SECONDS,
    START,
    UNKNOWN_IDLE,
    Activity,
    Effort,
    Turns,
    permitted,
)


def follow(effort: Effort, ratio: float, seconds: range) -> None:
    """Follow the same latency each second, with as much in flight as the effort allows."""
    for now in seconds:
        effort.follow(now, ratio, max(1, int(effort.level)))


def test_a_calm_broker_starts_slowly_and_grows_each_second() -> None:
    effort = Effort()
    follow(effort, UNKNOWN_IDLE, range(3))
    assert effort.level == START * MOST_GROWTH**3
    assert effort.activity is Activity.STARTING


def test_the_nearer_the_target_the_less_it_grows() -> None:
    # In a queue with an idle latency of 2/3 of the target, a third of the free capacity may be used.
    assert permitted(2 / 3, 2 / 3) == MOST_GROWTH
    assert permitted(2 / 3 / (1 - 0.2), 2 / 3) == pytest.approx(MARGIN * (1 / 3) / 0.2)
    assert permitted(1, 2 / 3) == pytest.approx(MARGIN)
    assert permitted(1e9, 2 / 3) == pytest.approx(MARGIN / 3)


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e3))
def test_a_higher_latency_permits_less(low: float, high: float, idle: float) -> None:
    assert 0 < permitted(max(low, high), idle) <= permitted(min(low, high), idle) <= MOST_GROWTH
    assert permitted(1.01, idle) < 1


def test_an_effort_that_is_not_used_does_not_grow() -> None:
    effort = Effort()
    assert not effort.follow(0, 0.3, 1, limited=False)
    assert effort.level == START


def test_between_calm_and_slow_nothing_changes() -> None:
    effort = Effort()
    follow(effort, 0.95, range(20))
    assert effort.level == START
    assert effort.activity is Activity.HOLDING


def test_one_slow_second_changes_nothing_two_do() -> None:
    effort = Effort()
    assert not effort.follow(0, 1.2, 2)
    assert effort.follow(1, 1.2, 2)
    assert effort.level == START * LEAST_CUT


def test_a_very_slow_second_reduces_the_effort_at_once_and_by_more() -> None:
    effort = Effort()
    assert effort.follow(0, 3, 2)
    assert effort.level == START * permitted(3, UNKNOWN_IDLE) < START * LEAST_CUT


def test_a_change_is_judged_only_when_latencies_can_show_it() -> None:
    effort = Effort()
    effort.follow(0, 3, 2)
    assert not effort.follow(1, 3, 1)
    assert effort.follow(SETTLE_SECONDS, 3, 1)


def test_where_latencies_are_rare_changes_are_rare() -> None:
    effort = Effort()
    for now in range(9):
        effort.follow(now, 0.1, 1, slowness=4.0)
    assert effort.level == START * MOST_GROWTH**3


def test_a_broker_at_which_nothing_moves_is_not_slowed() -> None:
    effort = Effort()
    assert not effort.follow(0, 9, 0)
    assert effort.level == START


def test_a_stop_goes_to_the_floor_and_pauses() -> None:
    effort = Effort()
    effort.stop(0, 2)
    assert effort.level == FLOOR
    effort.follow(HARD_PAUSE_SECONDS - 1, 0.3, 1)
    assert effort.level == FLOOR
    effort.follow(HARD_PAUSE_SECONDS, 0.3, 1)
    assert effort.level > FLOOR


def test_after_a_back_off_it_rests_below_the_limit_until_a_probe() -> None:
    effort = Effort()
    follow(effort, 0.1, range(6))
    limit = effort.level
    effort.follow(10, 3, 100)
    follow(effort, 0.7, range(13, 16))
    assert effort.level == CALM_LIMIT * limit
    returned = 15
    effort.follow(returned + FIRST_PROBE_SECONDS - 1, 0.7, 100)
    assert effort.level == CALM_LIMIT * limit
    effort.follow(returned + FIRST_PROBE_SECONDS, 0.7, 100)
    assert effort.level > CALM_LIMIT * limit


def test_a_probe_that_is_not_slow_becomes_faster() -> None:
    effort = Effort()
    follow(effort, 0.1, range(9))
    effort.follow(9, 3, 100)
    levels = [effort.level]
    for now in range(12, 40):
        effort.follow(now, 0.1, 100)
        if effort.level > levels[-1]:
            levels.append(effort.level)
    steps = [after / before for before, after in itertools.pairwise(levels)]
    first = next(number for number, step in enumerate(steps) if step == pytest.approx(PROBE_GROWTH))
    assert steps[first + 1] == pytest.approx(2 * PROBE_GROWTH - 1)


def test_a_small_effort_that_is_slow_for_the_first_time_is_tried_again_at_once() -> None:
    effort = Effort()
    effort.follow(0, 3, 1)
    follow(effort, 0.5, range(3, 6))
    assert effort.level > START
    effort.follow(6, 3, 1)
    follow(effort, 0.5, range(9, 12))
    assert effort.level < DOUBTED


@pytest.mark.parametrize(("below", "fewest"), [(0.7, LAST_PROBE_SECONDS), (0.5, CALM_PROBE_SECONDS)])
def test_probes_that_find_the_same_limit_become_rare(below: float, fewest: float) -> None:
    effort = Effort()
    changes = []
    for now in range(4000):
        in_flight = max(1, int(effort.level))
        before = effort.reversals
        effort.follow(now, 1.5 if in_flight > 10 else below, in_flight)
        if effort.reversals > before:
            changes.append(now)
    assert len([at for at in changes if at < 1000]) > len([at for at in changes if at >= 3000])
    assert len([at for at in changes if at >= 3000]) <= 2 * (1000 / fewest + 1)


def test_a_broker_that_becomes_much_faster_is_used_at_once() -> None:
    effort = Effort()
    effort.follow(0, 3, 2)
    follow(effort, 0.2, range(3, 40))
    assert effort.level > 4 * START


def test_when_the_load_has_changed_the_limit_is_forgotten() -> None:
    effort = Effort()
    effort.follow(0, 3, 2)
    effort.reconsider()
    follow(effort, 0.5, range(3, 8))
    assert effort.level > START


def seconds(turns: Turns, effort: float, most: int) -> list[int]:
    """Return in which seconds a small replica may start, and then moves."""
    found: list[int] = []
    for second in range(most):
        if turns.follow(effort, moving=second - 1 in found):
            found.append(second)
    return found


@pytest.mark.parametrize("effort", [1 / 16, 1 / 4, 0.4, 1 / 2])
def test_a_replica_moves_in_the_share_of_the_seconds_that_the_effort_says(effort: float) -> None:
    found = seconds(Turns(), effort, 1000)
    assert len(found) == pytest.approx(1000 * effort, abs=2)


def test_with_an_effort_of_a_quarter_three_of_four_seconds_are_pauses() -> None:
    assert seconds(Turns(), 1 / 4, 12) == [0, 4, 8]


def test_from_one_on_there_are_no_turns() -> None:
    assert seconds(Turns(), 1.0, 5) == [0, 1, 2, 3, 4]


def test_a_turn_that_was_not_used_is_kept_and_not_more() -> None:
    turns = Turns()
    assert all(turns.follow(0.5, moving=False) for _ in range(10))
    assert not turns.follow(0.5, moving=True)
    assert turns.follow(0.5, moving=False)


def test_a_long_move_costs_a_limited_pause() -> None:
    turns = Turns()
    for _ in range(100):
        turns.follow(0.5, moving=True)
    pauses = 0
    while not turns.follow(0.5, moving=False):
        pauses += 1
    assert pauses == 2 * MOST_DEBT
