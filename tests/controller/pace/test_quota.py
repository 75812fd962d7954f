from collections import deque

import pytest

from controller.pace.quota import WINDOW_SECONDS, Quota, rounded


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
    broker.quota.begin_anew()
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
