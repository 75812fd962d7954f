import pytest
from hypothesis import given
from hypothesis.strategies import integers

from common.rates import in_rate, read_rate


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0 B/s"),
        (999.4, "999 B/s"),
        (999.6, "1 kB/s"),
        (1_500, "1.5 kB/s"),
        (50_000_000, "50 MB/s"),
        (52_428_800, "52.4 MB/s"),
        (2**63, "9.22 EB/s"),
    ],
)
def test_rates_are_shown_in_decimal_units(rate: float, text: str) -> None:
    assert in_rate(rate) == text


@given(integers(1, 2**53))
def test_a_shown_rate_is_read_as_nearly_the_same(rate: int) -> None:
    shown = in_rate(min(rate, 999 * 10**12))
    assert read_rate(shown) == pytest.approx(min(rate, 999 * 10**12), rel=0.006)
