"""The command `queue`: plans that run after existing jobs (--generate-queue, --verify-queue, --execute-queue of KIP-236)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cluster.placement import place
from controller.model.plan import Entry, plan_of
from planner.proposals.goals_text import read_broker_ids
from reassignd.commands.execute import WaitOptions, submit
from reassignd.commands.options import (
    FILE,
    FORMAT,
    JSON,
    PLAN_FILE,
    TIMEOUT,
    WAIT,
    read_plan_file,
    with_client,
)
from reassignd.commands.text import counted, echo, part_lines
from reassignd.errors import CommandError
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

Row = dict[str, Any]


@click.group()
def queue() -> None:
    """Queue plans behind existing jobs (KIP-236)."""


def _brokers(_: click.Context, __: click.Parameter, text: str) -> list[int]:
    try:
        return read_broker_ids(text)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error


@queue.command()
@click.option(
    "--topics-to-move-json-file",
    "topics_file",
    metavar="FILE",
    type=FILE,
    required=True,
    help='The topics: {"version":1,"topics":[{"topic":"foo"}]}',
)
@click.option(
    "--broker-list",
    metavar="ID,ID,...",
    required=True,
    callback=_brokers,
    help="The brokers to spread the topics over.",
)
@click.option(
    "--disable-rack-aware", is_flag=True, help="Do not spread the replicas of a partition over racks."
)
@FORMAT
@with_client
def generate(
    client: "Client",
    output_format: str,
    topics_file: Path,
    broker_list: Sequence[int],
    disable_rack_aware: bool,
) -> None:
    """Propose a plan that spreads topics over brokers. Nothing is moved or queued."""
    topics = _topics(read_plan_file(topics_file), topics_file)
    rows = [json.loads(line) for line in b"".join(client.stream("/v1/snapshot")).splitlines()]
    racks = {row["id"]: row["rack"] for row in rows if row["kind"] == "broker"}
    for broker in broker_list:
        if broker not in racks:
            raise CommandError(f"--broker-list: broker {broker} is not registered")
    chosen = {broker: None if disable_rack_aware else racks[broker] for broker in broker_list}
    now = [row for topic in topics for row in _partitions(rows, topic)]
    proposed = _proposed(now, chosen)
    if output_format == JSON:
        echo(as_json({"current": _plan(now), "proposed": _plan(proposed)}))
    else:
        echo(f"Current replicas:\n{as_json(_plan(now))}\n\nProposed plan:\n{as_json(_plan(proposed))}")


@queue.command()
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(0, 10_000),
    default=20,
    help="Maximum number of entries to print.  [default: 20]",
)
@FORMAT
@with_client
def verify(client: "Client", output_format: str, limit: int) -> int:
    """List the queued entries that have not started. Exits with 1 while there are any."""
    answer = client.get("/v1/queue", limit=limit)
    if output_format == JSON:
        echo(as_json(answer))
    elif not answer["total"]:
        echo("The queue is empty.")
    else:
        echo(f"{counted(answer['total'], 'partition')} in the queue:")
        for line in part_lines([{**entry, "step": None} for entry in answer["entries"]]):
            echo(line)
    return 1 if answer["total"] else 0


@queue.command()
@PLAN_FILE
@click.option(
    "--append",
    is_flag=True,
    help="Queue the plan even if entries of an earlier queued plan have not started.",
)
@WAIT
@TIMEOUT
@FORMAT
@with_client
def execute(
    client: "Client", output_format: str, plan_file: Path, append: bool, wait: bool, timeout: float | None
) -> int:
    """Submit a plan that runs after existing jobs. The same as `reassignd execute --queue`."""
    options = {"queue": True, "append": append}
    return submit(client, output_format, read_plan_file(plan_file), options, WaitOptions(wait, timeout))


def _topics(data: bytes, path: Path) -> list[str]:
    try:
        topics = [row["topic"] for row in json.loads(data)["topics"]]
    except (ValueError, LookupError, TypeError) as error:
        raise CommandError(f'{path}: expected {{"version":1,"topics":[{{"topic":"foo"}}]}}') from error
    if not all(isinstance(each, str) for each in topics) or len(set(topics)) != len(topics):
        raise CommandError(f"{path}: expected topic names, each once")
    return topics


def _partitions(rows: Sequence[Row], topic: str) -> list[Row]:
    found = [row for row in rows if row["kind"] == "partition" and row["topic"] == topic]
    if not found:
        raise CommandError(f"there is no topic {topic}")
    return found


def _proposed(now: Sequence[Row], racks: dict[int, str | None]) -> list[Row]:
    proposed = []
    for number, row in enumerate(now):
        factor = len(row["replicas"])
        if factor > len(racks):
            raise CommandError(
                f"{row['topic']} has {factor} replicas, --broker-list only {len(racks)} brokers"
            )
        proposed.append({**row, "replicas": next(place(racks, factor, number))})
    return proposed


def _plan(rows: Sequence[Row]) -> Row:
    return plan_of(Entry(row["topic"], row["partition"], row["replicas"]) for row in rows)
