"""Rates as text: `50MB`, `50MB/s`, `48MiB` or a number of bytes per second are read; `50 MB/s` is shown."""

import re
from fractions import Fraction

_RATE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) ?(?:([kmgt])(i?))?b?(?:/s)?", re.IGNORECASE | re.ASCII)
EXPECTED = "expected bytes per second, such as 50MB, 48MiB or 1000000"
UNITS = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s")


def read_rate(text: str) -> int:
    """Return bytes per second. Units are decimal (MB) or binary (MiB). Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(EXPECTED)
    power = "kmgt".index(match[2].lower()) + 1 if match[2] else 0
    return int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)


def in_rate(bytes_per_second: float) -> str:
    """Return `50 MB/s`: three significant digits in the largest decimal unit of which it is at least 1."""
    exponent, value = 0, bytes_per_second
    while round(value) >= 1000 and exponent < len(UNITS) - 1:
        value /= 1000
        exponent += 1
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    number = f"{value:.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} {UNITS[exponent]}"
