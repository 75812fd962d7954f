from collections import deque

import pytest

from controller.pace.rates import BRIEF_CALLS, DEFAULT_UNIT, MOST_UNIT, WINDOW_SECONDS, Quota, Rate, rounded
from controller.pace.readings import Copied


def follow(rate: Rate, effort: float, in_flight: int = 1, needed: float = 0) -> int | None:
    """Let more move than the effort allows until that is throttled, and no burst is possible.

    Return the throttle.
    """
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


class Broker:
    """A broker that copies all that its throttle lets pass: the mean of ten seconds is at most the rate."""

    def __init__(self) -> None:
        self.quota = Quota()
        self._passed: deque[float] = deque([0.0] * (WINDOW_SECONDS - 1), WINDOW_SECONDS - 1)

    def second(self, flow: float, *, moving: bool = True) -> float:
        """Return what it copies in a second."""
        self.quota.permit(flow, moving=moving)
        assert self.quota.value is not None
        passes = max(0.0, WINDOW_SECONDS * self.quota.value - sum(self._passed)) if moving else 0.0
        self._passed.append(passes)
        return passes


def test_each_second_from_the_first_on_has_its_share() -> None:
    broker = Broker()
    assert [broker.second(50e6) for _ in range(40)] == pytest.approx([50e6] * 40, rel=0.15)


def test_a_constant_flow_needs_no_further_change_of_the_value() -> None:
    broker = Broker()
    values = []
    for _ in range(30):
        broker.second(50e6)
        values.append(broker.quota.value)
    assert values[0] == 5_000_000
    assert set(values[WINDOW_SECONDS:]) == {50_000_000}


@pytest.mark.parametrize("later", [10e6, 49e6, 80e6])
def test_another_flow_passes_from_the_next_second_on(later: float) -> None:
    broker = Broker()
    for _ in range(20):
        broker.second(50e6)
    assert [broker.second(later) for _ in range(30)] == pytest.approx([later] * 30, rel=0.2)


def test_while_nothing_moves_nothing_is_saved_for_a_burst() -> None:
    broker = Broker()
    for second in range(60):
        assert broker.second(50e6, moving=second % 20 > 5) < 50e6 * 1.2


def test_begun_anew_copies_pause_first() -> None:
    broker = Broker()
    for _ in range(20):
        broker.second(50e6)
    broker.quota.reset()
    assert broker.second(3e6) == 0


def test_a_removed_throttle_has_no_value() -> None:
    broker = Broker()
    broker.second(50e6)
    broker.quota.remove()
    assert broker.quota.value is None


@pytest.mark.parametrize(
    ("rate", "shown"), [(0, 1), (7.4, 7), (123.4, 123), (1_275_400, 1_280_000), (99.99e6, 100_000_000)]
)
def test_rates_have_three_digits(rate: float, shown: int) -> None:
    assert rounded(rate) == shown
