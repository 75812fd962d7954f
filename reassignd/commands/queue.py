"""The verb `queue`: plans behind what runs; KIP-236's --generate-queue, --verify-queue and --execute-queue."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cluster.placement import place
from reassignd.commands import plans
from reassignd.commands.execute import Waiting, submit
from reassignd.commands.options import FILE, FORMAT, JSON, PLAN_FILE, TIMEOUT, WAIT, asks_server
from reassignd.commands.text import counted, part_lines, say
from reassignd.errors import CommandError
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

Row = dict[str, Any]


@click.group()
def queue() -> None:
    """Plans that run behind what runs (KIP-236)."""


def _brokers(_: click.Context, __: click.Parameter, text: str) -> list[int]:
    ids = text.split(",")
    if not all(each.isascii() and each.isdecimal() for each in ids) or len(set(ids)) != len(ids):
        raise click.BadParameter(f"'{text}', expected different broker ids, separated by commas")
    return [int(each) for each in ids]


@queue.command()
@click.option(
    "--topics-to-move-json-file",
    "topics_file",
    metavar="FILE",
    type=FILE,
    required=True,
    help='{"version":1,"topics":[{"topic":"foo"}]}',
)
@click.option(
    "--broker-list", metavar="ID,ID,...", required=True, callback=_brokers, help="Where they may go."
)
@click.option("--disable-rack-aware", is_flag=True, help="Do not spread replicas over racks.")
@FORMAT
@asks_server
def generate(
    client: "Client", form: str, topics_file: Path, broker_list: Sequence[int], disable_rack_aware: bool
) -> None:
    """Propose a plan that spreads topics over brokers; nothing is moved, nothing is queued."""
    topics = _topics(plans.read(topics_file), topics_file)
    rows = [json.loads(line) for line in b"".join(client.stream("/v1/snapshot")).splitlines()]
    racks = {row["id"]: row["rack"] for row in rows if row["kind"] == "broker"}
    for broker in broker_list:
        if broker not in racks:
            raise CommandError(f"--broker-list: broker {broker} is not registered")
    chosen = {broker: None if disable_rack_aware else racks[broker] for broker in broker_list}
    now = [row for topic in topics for row in _partitions(rows, topic)]
    proposed = _proposed(now, chosen)
    if form == JSON:
        say(as_json({"current": _plan(now), "proposed": _plan(proposed)}))
    else:
        say(f"The replicas now:\n{as_json(_plan(now))}\n\nProposed:\n{as_json(_plan(proposed))}")


@queue.command()
@click.option("--limit", metavar="N", type=click.IntRange(0, 10_000), default=20, help="Entries shown.")
@FORMAT
@asks_server
def verify(client: "Client", form: str, limit: int) -> int:
    """Show what is queued and has not started; exit 1 while there is any."""
    answer = client.get("/v1/queue", limit=limit)
    if form == JSON:
        say(as_json(answer))
    elif not answer["total"]:
        say("The queue is empty.")
    else:
        say(f"{counted(answer['total'], 'partition')} in the queue:")
        for line in part_lines([{**entry, "step": None} for entry in answer["entries"]]):
            say(line)
    return 1 if answer["total"] else 0


@queue.command()
@PLAN_FILE
@click.option("--append", is_flag=True, help="Even while an earlier queued plan has not started.")
@WAIT
@TIMEOUT
@FORMAT
@asks_server
def execute(
    client: "Client", form: str, plan_file: Path, append: bool, wait: bool, timeout: float | None
) -> int:
    """Submit a plan behind what runs, as `reassignd execute --queue` does."""
    options = {"queue": True, "append": append}
    return submit(client, form, plan_file, options, Waiting(wait, timeout))


def _topics(data: bytes, path: Path) -> list[str]:
    try:
        topics = [row["topic"] for row in json.loads(data)["topics"]]
    except (ValueError, LookupError, TypeError) as error:
        raise CommandError(f'{path}: expected {{"version":1,"topics":[{{"topic":"foo"}}]}}') from error
    if not all(isinstance(each, str) for each in topics) or len(set(topics)) != len(topics):
        raise CommandError(f"{path}: expected the names of different topics")
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
    keys = ("topic", "partition", "replicas")
    return {"version": 1, "partitions": [{key: row[key] for key in keys} for row in rows]}
