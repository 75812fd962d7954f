"""The verb `status`: everything at a glance."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from planner.report.units import in_bytes, in_time
from reassignd.commands.options import FORMAT, JSON, asks_server
from reassignd.commands.text import broker_lines, counted, job_lines, reason_lines, say, when
from reassignd.errors import UnreachableError
from reassignd.printable import as_json, printable

if TYPE_CHECKING:
    from reassignd.client import Client


@click.command()
@click.option("--watch", is_flag=True, help="Show it again and again, until interrupted.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=1.0,
    help="With --watch: how often.  [default: 1]",
)
@FORMAT
@asks_server
def status(client: "Client", form: str, watch: bool, interval: float) -> None:
    """Show the cluster, what moves, what does not and why, and the limits."""
    if not watch:
        say(_page(client, form))
        return
    try:
        _watch(client, form, interval)
    except KeyboardInterrupt:
        return


def _watch(client: "Client", form: str, interval: float) -> None:
    if form == JSON or not sys.stdout.isatty():
        while True:
            say(_page(client, form) + ("" if form == JSON else "\n"))
            time.sleep(interval)
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, screen=True) as live:
        while True:
            try:
                page = _page(client, form)
            except UnreachableError as error:
                page = printable(str(error))
            live.update(Text(page, no_wrap=True, overflow="ellipsis"), refresh=True)
            time.sleep(interval)


def _page(client: "Client", form: str) -> str:
    answer = client.get("/v1/status")
    return as_json(answer) if form == JSON else "\n".join(map(printable, lines(answer)))


def lines(status: dict[str, Any]) -> list[str]:
    """What people read."""
    found = [_cluster(status), _moves(status)]
    if status["health"]["trouble"]:
        found.append(f"Health    {_GUARD[status['health']['holds']]}: {status['health']['trouble']}")
    if status["jobs"]:
        found += ["", *job_lines(status["jobs"])]
    if status["incoming"]:
        found += ["", *broker_lines(status["incoming"])]
    if status["reasons"]:
        rest = status["reassignments"]["waiting"] + status["reassignments"]["queued"]
        sample = f" (the first {status['sampled']})" if status["sampled"] < rest else ""
        found += ["", f"Why they do not move{sample}:", *reason_lines(status["reasons"])]
    return [
        *found,
        "",
        _limits(status["limits"]),
        _throttle(status["throttle"]),
        f"Spark     {spark_line(status['spark'])}",
    ]


def _cluster(status: dict[str, Any]) -> str:
    brokers, partitions = status["brokers"], status["partitions"]
    troubles = [
        f"{partitions[name]:,} {words}"
        for name, words in (
            ("offline", "offline"),
            ("under_min_isr", "under min ISR"),
            ("under_replicated", "under-replicated"),
        )
        if partitions[name]
    ]
    gone = f" (offline: {', '.join(map(str, brokers['offline']))})" if brokers["offline"] else ""
    return (
        f"Cluster   {brokers['live']} of {counted(brokers['registered'], 'broker')}{gone},"
        f" {counted(partitions['total'], 'partition')}, {', '.join(troubles) or 'all in sync'}"
    )


_GUARD = {0: "only repairs start", 1: "one step at a time", None: "not well, but the guard is off"}


def _moves(status: dict[str, Any]) -> str:
    totals = status["reassignments"]
    paused = "PAUSED: " if status["paused"] else ""
    others = f", {totals['others']:,} of others" if totals["others"] else ""
    if not totals["ongoing"]:
        return f"Moves     {paused}none{others}"
    parts = [f"{totals[name]:,} {name}" for name in ("moving", "waiting", "queued")]
    if totals["pending"]:
        parts.append(f"{totals['pending']:,} to follow a rollback")
    return f"Moves     {paused}{counted(totals['ongoing'], 'partition')}: {', '.join(parts)}{others}"


def _limits(limits: list[dict[str, Any]]) -> str:
    set_ = [
        f"{each['name']} {each['limit']:,}" + ("" if each["used"] is None else f" ({each['used']:,} used)")
        for each in limits
        if each["limit"] is not None
    ]
    return "Limits    " + (", ".join(set_) or "none")


def _throttle(throttle: dict[str, Any]) -> str:
    rate = throttle["bytes_per_second"]
    return "Throttle  " + ("none" if rate is None else f"{rate:,} bytes/s")


def spark_line(spark: dict[str, Any]) -> str:
    """What Spark does for plans."""
    match spark["state"]:
        case "off":
            return "off: planner.spark.min.partitions is 0"
        case "missing":
            return f"not found: {spark['reason']}"
        case "ready":
            return f"ready for jobs of {counted(spark['min_partitions'], 'partition')} or more"
    job, partitions = f"job {spark['job']}", counted(spark["partitions"], "partition")
    if spark["state"] == "working":
        return f"working since {when(spark['since_ms'])} on {job}: {partitions}"
    if spark["state"] == "failed":
        return f"failed on {job}: {spark['reason']}"
    told = spark["forecast"]
    return (
        f"ordered {partitions} of {job} in {counted(told['waves'], 'wave')},"
        f" forecast {in_time(told['seconds'])} for {in_bytes(told['bytes'])}"
    )
