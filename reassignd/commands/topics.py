"""The command `topics`: what each topic holds and moves, and the partitions of one."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from common.units import in_bytes
from common.wording import as_json
from reassignd.commands.completion import broker_numbers, topic_names
from reassignd.commands.help import examples
from reassignd.commands.listing import Rows, more_lines, refuse_given, with_rows
from reassignd.commands.options import JSON, Integer, with_client
from reassignd.commands.output import echo, listed
from reassignd.commands.table import Row, filled, look, with_table

if TYPE_CHECKING:
    from reassignd.client import Client

HEAD = ("topic", "partitions", "factor", "bytes", "moving", "waiting", "under-replicated", "offline")
WIDE_HEAD = (*HEAD, "one replica", "note")
OPTIONAL = frozenset({"moving", "waiting", "under-replicated", "offline", "note"})
"""Columns that are left out if no row has something there."""
SPARE = ("waiting", "factor", "bytes", "partitions")
"""Columns that are left out on a narrow terminal, in this order."""

PARTITION_HEAD = ("partition", "health", "state", "leader", "replicas", "target", "size", "job", "note")
WIDE_PARTITION_HEAD = (*PARTITION_HEAD, "isr", "min isr")
SPARE_PARTITION = ("note", "job", "size")

SORTS = ("topic", "partitions", "replicas", "bytes", "moving", "under_replicated")
STATES = ("moving", "reassigning", "under-replicated", "offline", "deleting")


@click.command(
    epilog=examples(
        "reassignd topics --sort bytes --descending --limit 10",
        "reassignd topics --search order --state under-replicated",
        "reassignd topics orders --broker 3",
    )
)
@click.argument("topic", metavar="[TOPIC]", required=False, shell_complete=topic_names)
@click.option("--state", type=click.Choice(STATES), help="Only topics with such partitions.")
@click.option(
    "--broker",
    metavar="ID",
    type=Integer(0),
    shell_complete=broker_numbers,
    help="With TOPIC: only partitions with a replica on this broker, now or in the target.",
)
@with_rows("topic", "name", SORTS)
@with_table
@with_client
def topics(
    client: "Client",
    output_format: str,
    topic: str | None,
    broker: int | None,
    state: str | None,
    rows: Rows,
) -> None:
    """List the topics, or show one and its partitions."""
    if topic is None and broker is not None:
        raise click.UsageError("--broker needs TOPIC")
    if topic is None:
        answer = client.get("/v1/topics", state=state, **rows.query)
    else:
        refuse_given(("search", "sort", "state"), "only for the list of topics; leave out TOPIC")
        answer = client.get(f"/v1/topics/{quote(topic, safe='')}", broker=broker, **rows.query)
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in _list_lines(answer) if topic is None else _topic_lines(answer):
        echo(line)


def _list_lines(answer: Row) -> Iterator[str]:
    yield from _topics(answer["topics"])
    yield from more_lines(answer, "total", "topic")


def _topic_lines(answer: Row) -> Iterator[str]:
    yield from _topics([answer["topic"]])
    yield ""
    head = WIDE_PARTITION_HEAD if look().wide else PARTITION_HEAD
    rows = [_partition_cells(row) for row in answer["partitions"]]
    yield from filled(head, rows, SPARE_PARTITION, ("target", "job", "note"))
    yield from more_lines(answer, "total", "partition")


def _topics(rows: Sequence[Row]) -> Iterator[str]:
    return filled(WIDE_HEAD if look().wide else HEAD, [_cells(row) for row in rows], SPARE, OPTIONAL)


def _cells(row: Row) -> Row:
    least, most = row["least_replicas"], row["most_replicas"]
    return {
        "topic": row["topic"],
        "partitions": f"{row['partitions']:,}",
        "factor": str(most) if least == most else f"{least} to {most}",
        "bytes": in_bytes(row["replica_bytes"]) + ("+" if row["unsized"] else ""),
        "one replica": in_bytes(row["bytes"]),
        "moving": _count(row["moving"]),
        "waiting": _count(row["reassigning"] - row["moving"]),
        "under-replicated": _count(row["under_replicated"]),
        "offline": _count(row["offline"]),
        "note": "waits for its deletion" if row["deleting"] else "",
    }


def _partition_cells(row: Row) -> Row:
    return {
        "partition": row["partition"],
        "health": row["health"],
        "state": row["state"],
        "leader": "none" if row["leader"] is None else row["leader"],
        "replicas": listed(row["replicas"]),
        "target": "" if row["target"] is None else listed(row["target"]),
        "size": "" if row["size"] is None else in_bytes(row["size"]),
        "job": row["job"] or "",
        "note": row["reason"],
        "isr": listed(row["isr"]),
        "min isr": row["min_isr"],
    }


def _count(number: int) -> str:
    """Return the number; nothing for 0, so that what is wrong stands out."""
    return f"{number:,}" if number else ""
