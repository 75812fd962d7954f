"""The verb `plan`: what a reassignment will take, before it begins."""

from pathlib import Path

import click

from common.plan_errors import PlanError
from controller.scheduling.plan_limits import PlanLimits, parse_limits
from planner.plan import Plan, json_lines, make_plan, moves_of, read_targets, write_plan
from planner.report.units import in_bytes, in_time, in_words
from planner.schedule import schedule
from planner.snapshot import read_snapshot
from planner.spark import running, schedule_of, submitted
from reassignd.commands.text import say
from reassignd.errors import CommandError

BANDWIDTH = 100 * 1024 * 1024

NAMED = 5
"""Waiting partitions in the printed summary; summary.json has more of them."""

INLINE = 50_000
"""A plan of so many partitions is done before Spark would have started; it runs there only if told where."""

PACKAGES = {"pyarrow", "pyspark", "py4j"}
"""What the server does without, and `plan` does not."""

FILE = click.Path(path_type=Path)


def _limits(_: click.Context, __: click.Parameter, text: str) -> PlanLimits:
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
@click.option("--master", metavar="URL", help="A Spark master.  [default: local[*], for large plans]")
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
    limits: PlanLimits,
    bandwidth: int,
    output: Path,
    form: str,
    **where: str | None,
) -> None:
    """Forecast a reassignment: every step, the waves they go in, bytes and time.

    Nothing is moved, and no cluster is asked: all comes from the plan and a snapshot. Above 50,000 partitions, or when
    told where, it is computed on Spark.
    """
    if None not in where.values():
        raise click.UsageError("--master and --remote exclude each other")
    try:
        cluster = read_snapshot(snapshot)
        moves = moves_of(read_targets(plan_file), cluster)
        if len(moves) <= INLINE and not (any(where.values()) or submitted()):
            made = make_plan(moves, cluster, limits, bandwidth, schedule)
        else:
            with running(**where) as spark:
                made = make_plan(moves, cluster, limits, bandwidth, schedule_of(spark))
        write_plan(made, output)
    except PlanError as error:
        raise CommandError(str(error)) from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        raise CommandError(f"plan needs {package}: .venv/bin/pip install -e '.[spark]'") from error
    if form == "json":
        for line in json_lines(made):
            say(line)
    else:
        say(_summary(made, output))


def _summary(made: Plan, output: Path) -> str:
    forecast = made.forecast
    moving = in_words(forecast.partitions - forecast.unchanged, "partition")
    steps = f"{in_words(forecast.steps, 'step')} in {in_words(forecast.waves, 'wave')}"
    copies = f"{in_words(forecast.replica_movements, 'replica')} ({in_bytes(forecast.bytes)}) to copy"
    took, least = in_time(forecast.seconds), in_time(forecast.least_seconds)
    lines = [
        f"{moving} to move, {forecast.unchanged:,} in place already",
        f"{steps}: {copies}, {in_words(forecast.leader_movements, 'leader movement')}",
        f"forecast: {took} at {in_bytes(forecast.bandwidth)}/s per broker, no less than {least}",
        *(
            f"waits: {each['topic']}-{each['partition']}: {each['reason']}"
            for each in forecast.waiting[:NAMED]
        ),
    ]
    if forecast.waiting_partitions > NAMED:
        lines.append(f"waits: {forecast.waiting_partitions - NAMED:,} more")
    return "\n".join([*lines, f"report: {output / 'report.html'}"])
