import pytest

from controller.pace.rates import DEFAULT_UNIT, MOST_UNIT, Rate, rounded
from controller.pace.readings import Copied


def test_a_window_that_is_kept_needs_no_throttle() -> None:
    rate = Rate()
    rate.follow(2.0, 2, 0)
    assert rate.value is None


def test_more_in_flight_than_the_effort_is_throttled_unless_it_arrives_soon() -> None:
    rate = Rate()
    rate.follow(2.0, 3, 0)
    assert rate.value is None
    rate.follow(2.0, 3, 0)
    assert rate.value == 2 * DEFAULT_UNIT


def test_below_one_replica_the_throttle_waits_for_the_next_step() -> None:
    rate = Rate()
    rate.follow(0.5, 0, 0)
    assert rate.value == DEFAULT_UNIT / 2


def test_the_speed_of_a_replica_is_learned_while_there_is_no_throttle() -> None:
    rate = Rate()
    for _ in range(30):
        rate.learn(Copied(100e6, 2))
    rate.follow(0.5, 1, 0)
    assert rate.value == 25_000_000
    for _ in range(30):
        rate.learn(Copied(25e6, 1))
    rate.follow(0.8, 2, 0)
    assert rate.value == 40_000_000


def test_the_speed_is_not_learned_while_another_broker_is_throttled() -> None:
    rate = Rate()
    for _ in range(30):
        rate.learn(Copied(1e6, 1), free=False)
    rate.follow(0.5, 1, 0)
    assert rate.value == DEFAULT_UNIT / 2


def test_impossible_speeds_are_bounded() -> None:
    rate = Rate()
    for _ in range(100):
        rate.learn(Copied(1e15, 1))
    rate.follow(0.5, 1, 0)
    assert rate.value == MOST_UNIT / 2


def test_the_rate_is_never_below_what_the_moving_partitions_need() -> None:
    rate = Rate()
    rate.follow(0.5, 1, 50e6)
    assert (rate.value, rate.at_floor) == (60_000_000, True)


def test_a_small_difference_is_not_set() -> None:
    rate = Rate()
    rate.follow(0.5, 1, 0)
    rate.follow(0.53, 1, 0)
    assert rate.value == DEFAULT_UNIT / 2


def test_a_rate_that_is_not_used_is_noted_unless_sizes_are_unknown() -> None:
    rate = Rate()
    rate.follow(0.5, 1, 0)
    rate.learn(Copied(1e6, 1))
    assert not rate.used
    rate.learn(Copied(0, 1))
    assert rate.used


def test_a_distrusted_speed_is_reduced() -> None:
    rate = Rate()
    rate.distrust()
    rate.follow(0.5, 1, 0)
    assert rate.value == rounded(DEFAULT_UNIT / 8)


@pytest.mark.parametrize(
    ("rate", "shown"), [(0, 1), (7.4, 7), (123, 120), (1_275_000, 1_300_000), (99.9e6, 100_000_000)]
)
def test_rates_have_two_digits(rate: float, shown: int) -> None:
    assert rounded(rate) == shown
