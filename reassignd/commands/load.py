"""The command `load`: what producers write and consumers read, by broker, topic or partition."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from common.clock import wall_clock
from common.rates import in_rate
from common.units import in_time
from common.wording import as_json
from reassignd.commands.help import examples
from reassignd.commands.listing import MOST_ROWS, OFFSET, more_lines
from reassignd.commands.options import JSON, Integer, with_client
from reassignd.commands.output import echo
from reassignd.commands.table import Row, filled, with_table

if TYPE_CHECKING:
    from reassignd.client import Client

UNITS = {"brokers": "broker", "topics": "topic", "partitions": "partition"}
SORTS = ("in", "out", "busy")

HEAD = ("broker", "topic", "partition", "leader", "in", "out", "fetches", "sends", "busy in", "busy out")
FULL_HEAD = (*HEAD, "cpu", "quality", "known")
OPTIONAL = frozenset(FULL_HEAD) - {"in", "out", "quality"}
"""Columns that are left out if no row has something there."""
SPARE = ("busy out", "sends", "fetches", "known", "busy in", "cpu")
"""Columns that are left out on a narrow terminal, in this order."""

ON = "`reassignd load --sampling on` switches it on"


@click.command(
    epilog=examples(
        "reassignd load --sampling on", "reassignd load", "reassignd load partitions --top 20 --sort busy"
    )
)
@click.argument("unit", type=click.Choice(list(UNITS)), default="brokers")
@click.option(
    "--top",
    metavar="N",
    type=Integer(1, MOST_ROWS),
    default=20,
    help="Maximum number of rows.  [default: 20]",
)
@OFFSET
@click.option(
    "--sort", type=click.Choice(SORTS), default="in", help="By what, the most first.  [default: in]"
)
@click.option(
    "--sampling", type=click.Choice(("on", "off")), help="Measure load, or end that. It is durable."
)
@click.option("--prometheus", metavar="URL", help="Prometheus for bytes out and CPU; '' for none.")
@click.option(
    "--prometheus-brokers",
    metavar="VALUE=ID,...",
    help="Brokers by labels of Prometheus that do not name their hosts.",
)
@click.option(
    "--metrics-topic",
    metavar="TOPIC",
    help="Cruise Control's metrics topic for bytes out and CPU; '' for none.",
)
@with_table
@with_client
def load(
    client: "Client",
    output_format: str,
    unit: str,
    top: int,
    offset: int,
    sort: str,
    sampling: str | None,
    **sources: str | None,
) -> None:
    """Show what producers write and consumers read, the most first, and the busy hour of the day.

    `in` is what producers write, `out` what consumers that commit offsets read. Of a broker both are those of
    the partitions that it leads; `fetches` and `sends` are the replication of its followers and leaders.
    """
    changes: Row = {name: value for name, value in sources.items() if value is not None}
    if sampling is not None:
        changes["sampling"] = sampling == "on"
    if changes:
        client.post("/v1/load", changes)
    answer = client.get("/v1/load", by=UNITS[unit], sort=sort, limit=top, offset=offset)
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in (*_head(answer), *_table(answer["rows"], unit), *_foot(answer, unit)):
        echo(line)


def _head(answer: Row) -> Iterator[str]:
    for problem in answer["problems"]:
        yield f"! {problem}"
    if not answer["sampling"]:
        yield f"Load is not measured: {ON}."
    elif answer["measured_ms"] is None:
        yield "Load is measured; the first round has not ended yet."
    else:
        age = in_time(max(0.0, (wall_clock() - answer["measured_ms"]) / 1000))
        total = answer["all"]
        yield (
            f"in {_rate(total['in'])}, out {_rate(total['out'])}, of {100 * answer['coverage']:.0f}%"
            f" of the partitions, {age} ago"
        )


def _foot(answer: Row, unit: str) -> Iterator[str]:
    yield from more_lines(answer, "total", UNITS[unit])
    if unit == "brokers" and len(answer["rows"]) == answer["total"] and (skew := _skew(answer["rows"])):
        yield skew
    yield from answer["matched"]
    if answer["busy_hour"] is not None:
        hour, total = answer["busy_hour"], answer["all"]["in_busy"]
        yield f"The busy hour is {hour:02}:00 to {(hour + 1) % 24:02}:00 UTC: in {_rate(total)}"


def _skew(rows: Sequence[Row]) -> str:
    """Return how far the broker with the most is above the mean; nothing if a broker is not known."""
    rates = [row["rates"]["in"] for row in rows]
    if not rates or None in rates or not sum(rates):
        return ""
    return f"The broker with the most in has {max(rates) * len(rates) / sum(rates):.2f} times the mean"


def _table(rows: Sequence[Row], unit: str) -> Iterator[str]:
    return filled(FULL_HEAD, [_cells(row, unit) for row in rows], SPARE, OPTIONAL) if rows else iter(())


def _cells(row: Row, unit: str) -> Row:
    rates, is_broker = row["rates"], unit == "brokers"
    return {
        "broker": row["broker"] if is_broker else "",
        "topic": row["topic"] or "",
        "partition": "" if row["partition"] is None else row["partition"],
        "leader": "" if is_broker or row["broker"] is None else row["broker"],
        "in": _rate(rates["in"]),
        "out": _rate(rates["out"]),
        "fetches": _rate(row["replication_in"]) if is_broker else "",
        "sends": _rate(row["replication_out"]) if is_broker else "",
        "busy in": "" if rates["in_busy"] is None else in_rate(rates["in_busy"]),
        "busy out": "" if rates["out_busy"] is None else in_rate(rates["out_busy"]),
        "cpu": "" if row["cpu"] is None else f"{100 * row['cpu']:.0f}%",
        "quality": row["quality"],
        "known": "" if row["coverage"] in {0, 1} else f"{100 * row['coverage']:.0f}%",
    }


def _rate(rate: float | None) -> str:
    return "unknown" if rate is None else in_rate(rate)
