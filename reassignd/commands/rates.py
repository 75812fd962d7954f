"""Rates on the command line: `50MB`, `50MB/s`, `48MiB` or a number of bytes per second."""

import re
from fractions import Fraction

import click

_RATE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) ?(?:([kmgt])(i?))?b?(?:/s)?", re.IGNORECASE)
EXPECTED = "expected bytes per second, such as 50MB, 48MiB or 1000000"


def read_rate(text: str) -> int:
    """Return bytes per second. Units are decimal (MB) or binary (MiB). Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(EXPECTED)
    power = "kmgt".index(match[2].lower()) + 1 if match[2] else 0
    return int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)


def rate(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Read the value of an option: a rate from one byte per second on."""
    if text is None:
        return None
    try:
        found = read_rate(text)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error
    if not 1 <= found < 2**63:
        raise click.BadParameter(f"'{text}', expected at least 1 byte per second")
    return found
