"""Rates as options of the command line; see `common.rates`."""

import click

from common.rates import read_rate


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


def rate_or_none(context: click.Context, parameter: click.Parameter, text: str) -> int | None:
    """Read the value of an argument: a rate, or the word none."""
    return None if text == "none" else rate(context, parameter, text)
