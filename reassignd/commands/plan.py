"""The command `plan`: forecast a reassignment before it starts; and the options that say where Spark runs."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from common.plan_errors import PlanError
from common.wording import counted, missing
from controller.model.limits import PlanLimits
from controller.scheduling.limits import ALIASES, LETTERED, parse_limits
from planner.model.snapshot import read_snapshot
from planner.model.step_table import schedule
from planner.plan import BANDWIDTH, Plan, json_lines, make_plan, moves_of, read_targets, write_plan
from planner.spark import LOCAL, MAX_INLINE_PARTITIONS, obstacle, running, schedule_of, submitted
from reassignd.commands.forecast_text import copy_lines
from reassignd.commands.help import examples
from reassignd.commands.options import rate
from reassignd.commands.output import echo
from reassignd.config.errors import CommandError

MAX_WAITING_PRINTED = 5
"""Waiting partitions in the printed summary; summary.json has more of them."""

OPTIONAL_PACKAGES = {"pyarrow", "pyspark", "py4j"}
"""Packages that only `plan` needs; they are not dependencies of the server."""

FILE = click.Path(path_type=Path)

R = TypeVar("R")

REMOTE = click.option("--remote", metavar="sc://HOST:PORT", help="Spark Connect server, instead of a master.")


class Where(NamedTuple):
    """A Spark master or a Spark Connect server.

    Without both, and outside of spark-submit, Spark is not asked for.
    """

    master: str | None = None
    remote: str | None = None

    @property
    def asked(self) -> bool:
        """Whether Spark is asked for."""
        return any(self) or submitted()

    def check(self) -> None:
        """Raise CommandError if something must be installed first."""
        if (reason := obstacle(self.remote or self.master or LOCAL)) is not None:
            raise CommandError(f"no Spark: {reason}")


def with_spark(master_help: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add --master and --remote to a command, and pass them as `where`."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @wraps(command)
        def run(*arguments: object, master: str | None, remote: str | None, **values: object) -> R:
            if None not in (master, remote):
                raise click.UsageError("--master and --remote cannot be used together")
            return command(*arguments, where=Where(master, remote), **values)

        return click.option("--master", metavar="URL", help=master_help)(REMOTE(run))

    return decorate


def _limits(_: click.Context, __: click.Parameter, text: str) -> PlanLimits:
    try:
        return parse_limits(",".join(map(_by_letter, text.split(","))))
    except PlanError as error:
        raise click.BadParameter(str(error)) from error


def _by_letter(part: str) -> str:
    """Return `p=20` for a limit that is named by its letter, its config, or a config of KIP-435."""
    name, equals, value = part.strip().partition("=")
    letters = {limit.config: limit.name for limit in LETTERED}
    return letters.get(ALIASES.get(name, name), name).lower() + equals + value


@click.command(
    epilog=examples(
        "reassignd plan --reassignment-json-file plan.json --snapshot cluster.jsonl \\",
        "    --limits p=20,b=5 --bandwidth 50MB --output forecast",
    )
)
@click.option(
    "--reassignment-json-file",
    "plan_file",
    metavar="PLAN",
    type=FILE,
    required=True,
    help="The plan, in the format of kafka-reassign-partitions.",
)
@click.option(
    "--snapshot",
    metavar="SNAPSHOT",
    type=FILE,
    required=True,
    help="The cluster, as JSON lines or Parquet, from `reassignd snapshot`.",
)
@click.option(
    "--limits",
    metavar="r=1,p=20,…",
    callback=_limits,
    default="",
    help="Limits: r replicas of one partition in a step; at once p partitions, l leader movements, c"
    " replicas, and b replicas to and from each broker; or the names of the configs. Unlimited by default.",
)
@click.option(
    "--bandwidth",
    metavar="RATE",
    callback=rate,
    default=str(BANDWIDTH),
    help="Bytes per second into, and out of, each broker, such as 50MB.  [default: 100MB]",
)
@with_spark("Spark master.  [default: local[*] for large plans]")
@click.option(
    "--output",
    metavar="DIR",
    type=FILE,
    required=True,
    help="Directory for steps.parquet, waves.parquet, summary.json and report.html.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Output format: a summary, or one line of JSON for each step, in the order of waves.  [default:"
    " text]",
)
def plan(
    plan_file: Path,
    snapshot: Path,
    limits: PlanLimits,
    bandwidth: int,
    output: Path,
    output_format: str,
    where: Where,
) -> None:
    """Forecast a reassignment: its steps, their waves, the bytes and the time.

    Needs the plan and a snapshot only; it does not connect to a cluster and moves nothing. Plans of more than
    50,000 partitions are computed with Spark, smaller ones too if --master or --remote is given.
    """
    try:
        cluster = read_snapshot(snapshot)
        moves = moves_of(read_targets(plan_file), cluster)
        if len(moves) <= MAX_INLINE_PARTITIONS and not where.asked:
            result = make_plan(moves, cluster, limits, bandwidth, schedule)
        else:
            with running(**where._asdict()) as spark:
                result = make_plan(moves, cluster, limits, bandwidth, schedule_of(spark))
        write_plan(result, output)
    except PlanError as error:
        raise CommandError(str(error), error.faults) from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL_PACKAGES:
            raise
        raise CommandError(missing("plan", package, "spark")) from error
    if output_format == "json":
        for line in json_lines(result):
            echo(line)
    else:
        echo(_summary(result, output))


def _summary(result: Plan, output: Path) -> str:
    forecast = result.forecast
    moving = counted(forecast.partitions - forecast.unchanged, "partition")
    lines = [
        f"{moving} to move, {forecast.unchanged:,} already at the target",
        *copy_lines(forecast),
        *(
            f"waits: {each['topic']}-{each['partition']}: {each['reason']}"
            for each in forecast.waiting[:MAX_WAITING_PRINTED]
        ),
    ]
    if forecast.waiting_partitions > MAX_WAITING_PRINTED:
        lines.append(f"waits: {forecast.waiting_partitions - MAX_WAITING_PRINTED:,} more")
    return "\n".join([*lines, f"report: {output / 'report.html'}"])
