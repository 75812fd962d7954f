import pytest

from controller.pace.quota import WINDOW_SECONDS
from controller.pace.rates import BRIEF_CALLS, DEFAULT_UNIT, MOST_UNIT, Rate
from controller.pace.readings import Copied


def follow(rate: Rate, effort: float, in_flight: int = 1, needed: float = 0) -> int | None:
    """Let more move than the effort allows until that is throttled, and no burst is possible; return the throttle."""
    for _ in range(1 + WINDOW_SECONDS):
        rate.follow(effort, in_flight, needed, lasting=in_flight)
    return rate.value


def test_a_window_that_is_kept_needs_no_throttle() -> None:
    rate = Rate()
    rate.follow(2.0, 2, 0, lasting=2)
    assert rate.value is None


def test_more_in_flight_than_the_effort_is_throttled_unless_it_arrives_soon() -> None:
    rate = Rate()
    rate.follow(2.0, 3, 0, lasting=2)
    assert rate.value is None
    rate.follow(2.0, 3, 0, lasting=3)
    assert rate.value == 2 * DEFAULT_UNIT / WINDOW_SECONDS


def test_small_replicas_that_follow_each_other_are_not_throttled() -> None:
    rate = Rate()
    for _ in range(10):
        rate.follow(0.5, 1, 0, lasting=0)
    assert rate.value is None


def test_small_replicas_after_a_large_one_are_not_throttled_for_long() -> None:
    rate = Rate()
    follow(rate, 0.5)
    values = []
    for _ in range(BRIEF_CALLS):
        rate.follow(0.5, 1, 0, lasting=0)
        values.append(rate.value)
    assert values == [DEFAULT_UNIT / 2] * (BRIEF_CALLS - 1) + [None]


def test_a_throttle_waits_for_the_next_step() -> None:
    rate = Rate()
    follow(rate, 0.5)
    rate.follow(0.5, 0, 0, lasting=0)
    assert rate.value == DEFAULT_UNIT / 2
    rate.follow(1.0, 0, 0, lasting=0)
    assert rate.value is None


def test_in_an_emergency_what_moves_is_throttled_at_once() -> None:
    rate = Rate()
    rate.act_now()
    rate.follow(0.5, 1, 0, lasting=0)
    assert rate.value == DEFAULT_UNIT / 2 / WINDOW_SECONDS


def test_the_speed_of_a_replica_is_learned_while_there_is_no_throttle() -> None:
    rate = Rate()
    for _ in range(30):
        rate.learn(Copied(100e6, 2))
    assert follow(rate, 0.5) == 25_000_000
    for _ in range(30):
        rate.learn(Copied(25e6, 1))
    assert follow(rate, 0.8) == 40_000_000


def test_the_speed_is_not_learned_while_another_broker_is_throttled() -> None:
    rate = Rate()
    for _ in range(30):
        rate.learn(Copied(1e6, 1), free=False)
    assert follow(rate, 0.5) == DEFAULT_UNIT / 2


def test_a_replica_is_at_least_as_fast_as_it_is_under_a_throttle() -> None:
    rate = Rate()
    for _ in range(30):
        rate.learn(Copied(160e6, 1), free=False)
    assert follow(rate, 0.5) == 80_000_000


def test_impossible_speeds_are_bounded() -> None:
    rate = Rate()
    for _ in range(100):
        rate.learn(Copied(1e15, 1))
    assert follow(rate, 0.5) == MOST_UNIT / 2


def test_the_rate_is_never_below_what_the_moving_partitions_need() -> None:
    rate = Rate()
    assert (follow(rate, 0.5, needed=50e6), rate.at_floor) == (60_000_000, True)


def test_a_rate_that_is_not_used_is_noted_unless_sizes_are_unknown() -> None:
    rate = Rate()
    follow(rate, 0.5)
    rate.learn(Copied(1e6, 1))
    assert not rate.used
    rate.learn(Copied(0, 1))
    assert rate.used


def test_a_distrusted_speed_is_reduced() -> None:
    rate = Rate()
    rate.distrust()
    rate.learn(Copied(MOST_UNIT, 1), free=False)
    assert follow(rate, 0.5) == pytest.approx(DEFAULT_UNIT / 8, rel=0.01)
