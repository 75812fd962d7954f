"""The verb `plan`: what a reassignment will take, before it begins."""

from pathlib import Path

import click

from planner.errors import PlanError
from planner.plan import Limits, Plan, json_lines, make_plan, moves_of, parse_limits, read_targets, write_plan
from planner.snapshot import read_snapshot
from planner.spark import running, schedule_of
from planner.units import in_bytes, in_time, in_words
from reassignd.errors import CommandError

BANDWIDTH = 100 * 1024 * 1024

FILE = click.Path(path_type=Path)


def _limits(_: click.Context, __: click.Parameter, text: str) -> Limits:
    try:
        return parse_limits(text)
    except PlanError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.option(
    "--reassignment-json-file",
    "plan_file",
    metavar="PLAN",
    type=FILE,
    required=True,
    help="The plan, as for kafka-reassign-partitions --execute.",
)
@click.option(
    "--snapshot",
    metavar="SNAPSHOT",
    type=FILE,
    required=True,
    help="The cluster, as JSON lines or Parquet (docs/planner.md).",
)
@click.option(
    "--limits",
    metavar="r=1,p=20,…",
    callback=_limits,
    default="",
    help="R, P, L, C and B: replicas of one partition in a step; and at once, partitions moving, leader movements,"
    " replicas moving, and replicas to and from each broker. Unlimited by default.",
)
@click.option(
    "--bandwidth",
    metavar="BYTES",
    type=click.IntRange(min=1),
    default=BANDWIDTH,
    help="Bytes per second into, and out of, each broker for this.  [default: 104857600]",
)
@click.option("--master", metavar="URL", help="A Spark master.  [default: local[*]]")
@click.option("--remote", metavar="sc://HOST:PORT", help="A Spark Connect server, instead of a master.")
@click.option(
    "--output",
    metavar="DIR",
    type=FILE,
    required=True,
    help="Where steps.parquet, waves.parquet, summary.json and report.html are written.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="What is printed: a summary, or every step as a line of JSON, wave by wave.",
)
def plan(
    plan_file: Path,
    snapshot: Path,
    limits: Limits,
    bandwidth: int,
    master: str | None,
    remote: str | None,
    output: Path,
    form: str,
) -> None:
    """Forecast a reassignment: every step, the waves they go in, bytes and time.

    Nothing is moved, and no cluster is asked: the plan is computed on Spark from a snapshot.
    """
    if master is not None and remote is not None:
        raise click.UsageError("--master and --remote exclude each other")
    try:
        cluster = read_snapshot(snapshot)
        moves = moves_of(read_targets(plan_file), cluster)
        with running(master, remote) as spark:
            made = make_plan(moves, cluster, limits, bandwidth, schedule_of(spark))
        write_plan(made, output)
    except PlanError as error:
        raise CommandError(str(error)) from error
    if form == "json":
        for line in json_lines(made):
            click.echo(line)
    else:
        click.echo(_summary(made, output))


def _summary(made: Plan, output: Path) -> str:
    forecast = made.forecast
    lines = [
        f"{in_words(forecast.partitions - forecast.unchanged, 'partition')} to move, {forecast.unchanged:,} in place",
        f"{in_words(forecast.steps, 'step')} in {in_words(forecast.waves, 'wave')}:"
        f" {in_words(forecast.replica_movements, 'replica')} ({in_bytes(forecast.bytes)}) to copy,"
        f" {in_words(forecast.leader_movements, 'leader movement')}",
        f"forecast {in_time(forecast.seconds)} at {in_bytes(forecast.bandwidth)}/s per broker,"
        f" and no less than {in_time(forecast.least_seconds)}",
        *(f"waits: {each['topic']}-{each['partition']}: {each['reason']}" for each in forecast.waiting[:5]),
    ]
    if forecast.waiting_partitions > 5:
        lines.append(f"waits: {in_words(forecast.waiting_partitions, 'partition')} in all")
    lines.append(f"report: {output / 'report.html'}")
    return "\n".join(lines)
