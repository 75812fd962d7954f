"""The command `brokers`: what each broker holds and moves, in every mode."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from common.address import Address
from common.rates import in_rate
from common.units import in_bytes
from common.wording import as_json
from reassignd.commands.completion import broker_numbers
from reassignd.commands.help import examples
from reassignd.commands.listing import Rows, more_lines, refuse_given, with_rows
from reassignd.commands.options import JSON, Integer, with_client
from reassignd.commands.output import echo
from reassignd.commands.table import Row, bar, columns, filled, look, with_table

if TYPE_CHECKING:
    from reassignd.client import Client

HEAD = ("broker", "state", "rack", "address", "replicas", "leaders", "bytes", "disk", "in", "out", "rate in")
WIDE_HEAD = (*HEAD, "rate out", "preferred", "lagging", "coming", "going", "placement", "note")
SPARE = ("address", "rate in", "rack", "bytes", "disk", "leaders")
"""Columns that are left out on a narrow terminal, in this order."""
OPTIONAL = frozenset({"rack", "disk", "in", "out", "rate in", "rate out", "placement", "note"})
"""Columns that are left out if no row has something there."""

SORTS = ("id", "rack", "replicas", "leaders", "bytes", "disk", "moving", "rate")
STATES = ("live", "shutting down", "offline", "offline and empty")


@click.command(
    epilog=examples(
        "reassignd brokers", "reassignd brokers 3", "reassignd brokers --rack a --sort disk --descending"
    )
)
@click.argument("number", metavar="[BROKER]", type=Integer(0), required=False, shell_complete=broker_numbers)
@click.option("--rack", metavar="RACK", help="Only brokers of this rack.")
@click.option("--state", type=click.Choice(STATES), help="Only brokers in this state.")
@with_rows("broker", "id, host or rack", SORTS)
@with_table
@with_client
def brokers(
    client: "Client",
    output_format: str,
    number: int | None,
    rows: Rows,
    **query: str | None,
) -> None:
    """List the brokers, or show one: what it holds and moves, and its log directories."""
    if number is not None:
        refuse_given((*Rows._fields, *query), "only for the list of brokers; leave out BROKER")
        _show(client.get(f"/v1/brokers/{number}"), output_format)
        return
    answer = client.get("/v1/brokers", **query, **rows.query)
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in _table(answer["brokers"]):
        echo(line)
    for line in more_lines(answer, "total", "broker"):
        echo(line)


def _show(answer: Row, output_format: str) -> None:
    if output_format == JSON:
        echo(as_json(answer))
        return
    row = answer["broker"]
    for line in _table([row]):
        echo(line)
    if row["log_dirs"]:
        echo("")
        for line in columns(("log dir", "state", "disk"), map(_log_dir, row["log_dirs"])):
            echo(line)
    if row["empty"]:
        echo(f"\nIt holds nothing. Ask `reassignd drained {row['id']}` before you stop it.")


def _table(rows: Sequence[Row]) -> Iterator[str]:
    return filled(WIDE_HEAD if look().wide else HEAD, [_cells(row) for row in rows], SPARE, OPTIONAL)


def _cells(row: Row) -> Row:
    notes = {"cordoned": row["cordoned"], "hidden from clients": row["hidden"]}
    return {
        "broker": row["id"],
        "state": row["state"],
        "rack": row["rack"] or "",
        "address": Address(row["host"], row["port"]) if row["host"] else "",
        **{name: f"{row[name]:,}" for name in ("replicas", "leaders", "preferred", "lagging")},
        **{name: f"{row[name]:,}" for name in ("coming", "going")},
        "bytes": in_bytes(row["bytes"]) + ("+" if row["unsized"] else ""),
        "disk": _disk(row["disk_used"], row["disk_total"]),
        "in": f"{row['moving_in']:,}" if row["moving_in"] else "",
        "out": f"{row['moving_out']:,}" if row["moving_out"] else "",
        "rate in": in_rate(row["rate_in"]) if row["rate_in"] else "",
        "rate out": in_rate(row["rate_out"]) if row["rate_out"] else "",
        "placement": "excluded" if row["excluded"] else "",
        "note": ", ".join(name for name, is_so in notes.items() if is_so),
    }


def _disk(used: int | None, total: int | None) -> str:
    """Return the used share of a disk; nothing if it is not known."""
    if used is None or not total:
        return ""
    return f"{bar(used, total, 10)}{100 * used // total}% of {in_bytes(total)}"


def _log_dir(row: Row) -> tuple[str, str, str]:
    notes = {"failed": not row["works"], "cordoned": row["cordoned"], "excluded": row.get("excluded")}
    state = ", ".join(name for name, is_so in notes.items() if is_so) or "live"
    return row["path"], state, _disk(row["used"], row["total"])
