"""The command `schedule`: the periods in which steps may start, and their throttles."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from common.rates import in_rate
from common.wording import as_json
from reassignd.commands.help import examples
from reassignd.commands.options import JSON, with_client
from reassignd.commands.output import echo, when
from reassignd.commands.table import columns, with_table

if TYPE_CHECKING:
    from reassignd.client import Client

NONE = "none"


@click.command(
    epilog=examples(
        "reassignd schedule",
        "reassignd schedule 'Mon-Fri 22:00-06:00 throttle=50MB; Sat,Sun 00:00-24:00'",
        "reassignd schedule none",
    )
)
@click.argument("text", metavar="[SCHEDULE|none]", required=False)
@click.option("--dry-run", is_flag=True, help="Only check SCHEDULE, and show what it would permit now.")
@with_table
@with_client
def schedule(client: "Client", output_format: str, text: str | None, dry_run: bool) -> None:
    """Show the periods in which steps may start, replace them, or remove them with `none`.

    SCHEDULE has entries such as 'Mon-Fri 22:00-06:00 throttle=50MB; Sat,Sun 00:00-24:00; tz=Europe/Berlin'.
    Without days a period begins on each day, and without tz= the time zone is UTC. Steps in flight continue
    after a period.
    """
    if text is None:
        answer = client.get("/v1/schedule")
    else:
        body = {"schedule": None if text == NONE else text}
        answer = client.ask(*(("POST", "/v1/schedule/preview") if dry_run else ("PUT", "/v1/schedule")), body)
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in _lines(answer):
        echo(line)
    if dry_run:
        echo("Nothing was changed.")


def in_words(now: Mapping[str, Any]) -> str:
    """Return what the schedule permits now."""
    until = "" if now["until_ms"] is None else f" until {when(now['until_ms'])}"
    state = f"steps may start{until}" if now["open"] else now["reason"]
    return f"{state}, throttle {_rate(now['throttle'])}"


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["schedule"] is None:
        yield "No schedule: steps may start at any time."
        return
    yield f"Now: {in_words(answer['now'])}"
    if answer["periods"]:
        yield ""
        head = ("days", "from", f"to ({answer['time_zone']})", "throttle")
        yield from columns(head, map(_cells, answer["periods"]))


def _cells(period: Mapping[str, Any]) -> tuple[object, ...]:
    days = "every day" if len(period["days"]) == 7 else ",".join(period["days"])
    return days, period["start"], period["end"], _rate(period["throttle"])


def _rate(rate: int | None) -> str:
    return "none" if rate is None else in_rate(rate)
