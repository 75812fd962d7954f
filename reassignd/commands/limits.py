"""The verb `limits`: how much may move at once (KIP-435)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from controller.scheduling.plan_limits import MEANING
from reassignd.commands.options import FORMAT, JSON, asks_server
from reassignd.commands.text import columns, say
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

NONE = {"none", "unlimited"}

MEANINGS = {**MEANING, "throttle": "bytes a second to, and from, each broker"}


def _changes(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, int | None]:
    changes: dict[str, int | None] = {}
    for text in given:
        name, equals, value = text.partition("=")
        whole = value.removeprefix("-").isdecimal() and value.isascii()
        if not equals or not (whole or value in NONE):
            raise click.BadParameter(f"'{text}', expected NAME=NUMBER or NAME=none")
        if name in changes:
            raise click.BadParameter(f"'{name}' is there twice")
        changes[name] = None if value in NONE else int(value)
    return changes


@click.command()
@click.argument("changes", metavar="[NAME=VALUE]...", nargs=-1, callback=_changes)
@FORMAT
@asks_server
def limits(client: "Client", form: str, changes: dict[str, int | None]) -> None:
    """Show the limits, or change some: all of those named, or none when a value is not valid.

    Names are R, P, L, C, B, throttle, or the configs that stand behind them. VALUE is a number from 1, or none.
    A change counts from the next step on; steps in flight are not disturbed.
    """
    answer = client.ask("PUT", "/v1/limits", changes) if changes else client.get("/v1/limits")
    if form == JSON:
        say(as_json(answer))
        return
    for line in columns(("name", "limit", "used", "what", "config"), map(_cells, answer["limits"])):
        say(line)
    if answer["brokers"]:
        say("")
        rows = ((each["id"], each["incoming"], each["outgoing"]) for each in answer["brokers"])
        for line in columns(("broker", "moving to it", "moving from it"), rows):
            say(line)


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    limit = "none" if row["limit"] is None else f"{row['limit']:,}"
    used = "" if row["used"] is None else f"{row['used']:,}"
    return row["name"], limit, used, MEANINGS[row["name"]], row["config"]
