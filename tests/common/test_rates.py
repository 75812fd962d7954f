import pytest

from common.rates import read_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1000000", 1_000_000),
        ("50MB", 50_000_000),
        ("50mb/s", 50_000_000),
        ("50M", 50_000_000),
        ("1.5 GB", 1_500_000_000),
        ("48MiB", 48 * 1024 * 1024),
        ("10kB", 10_000),
        ("512B", 512),
    ],
)
def test_units_are_decimal_or_binary(text: str, rate: int) -> None:
    assert read_rate(text) == rate


@pytest.mark.parametrize("text", ["", "MB", "50XB", "-5", "5 apples", "1e6", "1MiBB", "1/s/s"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 50MB"):
        read_rate(text)
