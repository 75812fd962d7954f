"""Times that users give: a distance from now such as 2h, or a local time."""

import re
from datetime import UTC, datetime, timedelta

import click

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def ago(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return milliseconds since 1970. `text` is an age such as 2h, or a local time."""
    return None if text is None else max(0, _milliseconds(text, -1, "an age"))


def ahead(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return milliseconds since 1970. `text` is the time from now on such as 2h, or a local time to come."""
    if text is None:
        return None
    result = _milliseconds(text, 1, "a time from now on")
    if result <= datetime.now(UTC).timestamp() * 1000:
        raise click.BadParameter(
            f"'{text}' is in the past: give a time from now on such as 2h, or a later one"
        )
    return result


def _milliseconds(text: str, sign: int, what: str) -> int:
    distance = re.fullmatch(r"(\d{1,6})([smhd])", text)
    try:
        if distance is not None:
            then = datetime.now(UTC) + sign * timedelta(**{UNITS[distance[2]]: int(distance[1])})
        else:
            then = datetime.fromisoformat(text).astimezone()
        return int(then.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"'{text}', expected {what} such as 30m, 2h, 7d, or 2030-01-31T18:00"
        ) from error
