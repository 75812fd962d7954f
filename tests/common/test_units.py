import pytest

from common.units import in_bytes, in_time, ticks


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (10.5 * 1024**2, "10.5 MiB"), (5 * 1024**4, "5 TiB")],
)
def test_bytes_have_the_largest_unit_that_fits(number: float, text: str) -> None:
    assert in_bytes(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (4.25, "4.25 s"), (90, "1 min 30 s"), (3600, "1 h"), (3 * 86400 + 4 * 3600 + 59, "3 d 4 h")],
)
def test_times_have_two_units_at_most(seconds: float, text: str) -> None:
    assert in_time(seconds) == text


@pytest.mark.parametrize(
    ("maximum", "expected"),
    [
        (0, [0, 1]),
        (7, [0, 2, 4, 6, 8]),
        (100, [0, 25, 50, 75, 100]),
        (3 * 1024, [0, 1024, 2048, 3072]),
        (0.5, [0, 0.2, 0.4, 0.6]),
    ],
)
def test_ticks_are_round_and_reach_the_maximum(maximum: float, expected: list[float]) -> None:
    assert ticks(maximum) == pytest.approx(expected)
