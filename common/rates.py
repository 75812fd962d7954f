"""Rates as text: `50MB`, `50MB/s`, `48MiB` or a number of bytes per second."""

import re
from fractions import Fraction

_RATE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) ?(?:([kmgt])(i?))?b?(?:/s)?", re.IGNORECASE | re.ASCII)
EXPECTED = "expected bytes per second, such as 50MB, 48MiB or 1000000"


def read_rate(text: str) -> int:
    """Return bytes per second. Units are decimal (MB) or binary (MiB). Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(EXPECTED)
    power = "kmgt".index(match[2].lower()) + 1 if match[2] else 0
    return int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)
