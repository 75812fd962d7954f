"""The command `limits`: how much may move at once (KIP-435)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from common.rates import in_rate
from common.wording import as_json, counted
from controller.model.configs import OWN_PREFIX, PACE
from reassignd.commands.completion import job_numbers, limit_names
from reassignd.commands.help import examples
from reassignd.commands.options import JSON, Integer, read_throttle, with_client
from reassignd.commands.output import echo, limit_of_job
from reassignd.commands.table import Row, columns, filled, with_table

if TYPE_CHECKING:
    from reassignd.client import Client

Value = int | float | str | None

NO_LIMIT = {"none", "unlimited"}

CONFIGS = (
    "kafka-configs.sh --bootstrap-server HOST:PORT --entity-type brokers --entity-default"
    " --alter --add-config"
)
"""The command that sets configs which are not limits."""


def _changes(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, Value]:
    changes: dict[str, Value] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"'{text}', expected NAME=NUMBER or NAME=none")
        if name in changes:
            raise click.BadParameter(f"'{name}' is given twice")
        changes[name] = None if value in NO_LIMIT else _value(text, name, value)
    return changes


def _value(text: str, name: str, value: str) -> Value:
    if not name.lower().startswith(("pace", PACE)):
        return _number(text, name, value)
    try:
        return float(value)
    except ValueError:
        return value


def _number(text: str, name: str, value: str) -> int:
    throttle = "throttle" in name.lower()
    if value.removeprefix("-").isdecimal() and value.isascii() and (int(value) < 1 or not throttle):
        return int(value)
    if not throttle:
        other = f"; other configs are set with {CONFIGS} {text}" if name.startswith(OWN_PREFIX) else ""
        raise click.BadParameter(f"'{text}', expected NAME=NUMBER or NAME=none{other}")
    try:
        return read_throttle(value)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error


HEAD = ("name", "limit", "used", "from", "what", "config")
SPARE = ("config", "from", "what")
"""Columns that are left out on a narrow terminal, in this order."""


@click.command(
    epilog=examples(
        "reassignd limits",
        "reassignd limits P=20 B=5 throttle=50MB",
        "reassignd limits P=none --dry-run",
        "reassignd limits pace=auto pace.factor=1.5",
        "reassignd limits --job 3 P=20 B=none",
    )
)
@click.argument("changes", metavar="[NAME=VALUE]...", nargs=-1, callback=_changes, shell_complete=limit_names)
@click.option(
    "--job",
    "number",
    metavar="JOB",
    type=Integer(1),
    shell_complete=job_numbers,
    help="Show or change the limits of this job's own: R, P, L, C, B. Those of the cluster apply too.",
)
@click.option("--dry-run", is_flag=True, help="Only show which steps the change would start now.")
@with_table
@with_client
def limits(
    client: "Client", output_format: str, changes: dict[str, Value], number: int | None, dry_run: bool
) -> None:
    """Show the limits, or change some of them. If one value is invalid, none is changed.

    NAME is R, P, L, C, B, bytes, throttle, or the name of the config, also one of KIP-435. VALUE is a number
    from 1, or none; that of the throttle may have a unit: throttle=50MB. pace=auto moves as fast as producers
    permit; pace.ms=10 or pace.factor=1.5 is the latency that they may see. A change applies from the next
    step on; steps in flight are not affected.
    """
    if number is not None:
        if dry_run:
            raise click.UsageError("--dry-run cannot be used with --job")
        _limit_job(client, number, changes, output_format)
        return
    if dry_run:
        if not changes:
            raise click.UsageError("--dry-run needs a change, such as P=20")
        _print_preview(client.ask("POST", "/v1/limits/preview", changes), output_format)
        return
    answer = client.ask("PUT", "/v1/limits", changes) if changes else client.get("/v1/limits")
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in filled(HEAD, [_cells(row) for row in answer["limits"]], SPARE, ()):
        echo(line)
    if answer["pace"] is not None:
        echo(f"pace=auto: produces take at most {answer['pace']}")
    if answer["brokers"]:
        echo("")
        rows = ((each["id"], each["incoming"], each["outgoing"]) for each in answer["brokers"])
        for line in columns(("broker", "replicas in", "replicas out"), rows):
            echo(line)


def _limit_job(client: "Client", number: int, changes: dict[str, Value], output_format: str) -> None:
    if changes:
        client.post(f"/v1/jobs/{number}/limits", changes)
    own = client.get(f"/v1/jobs/{number}", limit=0)["job"]["limits"]
    if output_format == JSON:
        echo(as_json(own))
    elif own:
        echo(f"Job {number} has limits of its own: {'; '.join(map(limit_of_job, own))}")
    else:
        echo(f"Job {number} has no limits of its own.")


def _print_preview(preview: dict[str, Any], output_format: str) -> None:
    if output_format == JSON:
        echo(as_json(preview))
        return
    for row in preview["limits"]:
        if row["before"] != row["after"]:
            excess = f"; steps in flight exceed it by {row['excess']:,} and continue" if row["excess"] else ""
            before, after = (_limit(row["name"], row[each]) for each in ("before", "after"))
            echo(f"{row['name']}: {before} -> {after}{excess}")
    steps = counted(preview["starts"], "waiting step") + (" or more" if preview["more"] else "")
    echo(f"{steps} would start now" + (f": {preview['stopped']}" if preview["stopped"] else ""))
    if preview["brokers"]:
        echo("")
        head = (
            "broker",
            "replicas in",
            "replicas out",
            "starting in",
            "starting out",
            "excess in",
            "excess out",
        )
        for line in columns(head, (tuple(each.values()) for each in preview["brokers"])):
            echo(line)
    echo("Nothing was changed.")


def _limit(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return in_rate(value) if name == "throttle" else f"{value:,}"


def _cells(row: Row) -> Row:
    limit = _limit(row["name"], row["limit"])
    used = "" if row["used"] is None else f"{row['used']:,}"
    cells = (row["name"], limit, used, row.get("origin") or "", row.get("meaning", ""), row["config"])
    return dict(zip(HEAD, cells, strict=True))
