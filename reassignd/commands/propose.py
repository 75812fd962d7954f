"""The command `propose`: write a plan that meets a goal with the fewest moves (docs/proposals.md)."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from common.plan_errors import PlanError
from common.wording import as_json, counted
from controller.scheduling.limits import parse_limits
from planner.model.forecast import Forecast
from planner.model.snapshot import Snapshot, has_more_rows, read_snapshot
from planner.plan import BANDWIDTH, forecast
from planner.proposals.problem.goal import MissingSolverError, ProposalError
from planner.proposals.proposal_text import HEAD, as_dict, broker_rows, plan_json, rollback_json, summary
from planner.proposals.result import PartialPlanError, Proposal
from planner.proposing import DISKS, GoalOptions, propose_for, propose_on, read_goal_options
from planner.spark import MAX_INLINE_PARTITIONS, running
from reassignd.commands.cluster_source import Source, read_server, with_source
from reassignd.commands.completion import broker_numbers, goal_words, topic_names
from reassignd.commands.forecast_text import (
    Rate,
    Scheduled,
    circumstance_lines,
    forecast_lines,
    limits_of,
    rate_of,
    schedule_lines,
    within_schedule,
)
from reassignd.commands.help import examples
from reassignd.commands.options import FILE, JSON, OWN_LIMITS, TIMEOUT, Integer, rate, with_client
from reassignd.commands.output import echo
from reassignd.commands.plan import Where, with_spark
from reassignd.commands.plan_files import Files
from reassignd.commands.propose_disks import check_execution, disks
from reassignd.commands.propose_execute import Execution, check_same_cluster, execute, not_as_in, watch
from reassignd.commands.table import columns, with_table
from reassignd.commands.times import ahead
from reassignd.config.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

R = TypeVar("R")

HELP = """Propose a plan that meets goals with the fewest moves. Nothing moves without --execute.

\b
Goals, several of which can be combined:
  drain ID,ID,...  leave no replica on these brokers
  demote ID,ID,... let other replicas lead instead of these brokers; no data moves
  relieve ID,...   take replicas off brokers whose disks are too full, or loads of --by too high
  add ID,ID,...    fill new brokers: even out all brokers
  balance          even out replicas and preferred leaders
  rf N             change the replication factor
  rf N:REGEX ...   the same, of topics whose whole name matches
  racks            obey the rack rule
  repair           replace the replicas that are lost, and nothing else
  leaders          even out preferred leaders; no data moves
  disks [ID,...]   even out the log directories of each broker, or empty those of --empty; alone
"""

MOST_REASONS = 20
"""Most reasons that a failed proposal prints."""

_GOAL_OPTIONS = (
    click.option(
        "--topics",
        metavar="REGEX",
        shell_complete=topic_names,
        help="Change only topics whose whole name matches.",
    ),
    click.option(
        "--exclude-topics",
        metavar="REGEX",
        shell_complete=topic_names,
        help="Do not change topics whose whole name matches.",
    ),
    click.option(
        "--exclude-brokers",
        metavar="ID,ID,...",
        shell_complete=broker_numbers,
        help="Brokers that keep their replicas and get no new ones.",
    ),
    click.option(
        "--tolerance",
        metavar="PERCENT",
        help="Allowed deviation from even counts.  [default: 5%]  With disks: from how full the directories"
        " of a broker are in the mean.  [default: 10%]",
    ),
    click.option(
        "--leaders",
        type=click.Choice(["balance", "keep"]),
        help="Whether to even out preferred leaders.  [default: balance for add, balance and leaders, else"
        " keep]",
    ),
    click.option(
        "--by",
        metavar="LOAD,LOAD,...",
        help="With add and balance: what to even out, of replicas, bytes, in, out, leaders-in and cpu; both"
        " stands for replicas,bytes, and load for bytes,in,out.  [default: both, where sizes are known]  With"
        " drain, rf, repair and racks, and with --to or --relieve: of what no broker may get too much. With"
        " relieve alone: what is too much, instead of disks.",
    ),
    click.option(
        "--tolerance-of",
        metavar="LOAD=PERCENT",
        multiple=True,
        help="Allowed deviation from the fair share of one load, such as in=10%.",
    ),
    click.option(
        "--at",
        type=click.Choice(["busy", "mean", "now"]),
        help="Which rates count: those of the busy hour, means over the day, or those of the last minutes."
        "  [default: busy]",
    ),
    click.option(
        "--allow-unknown",
        is_flag=True,
        help="Count rates that are not known as 0, rather than fail. With disks: take directories of"
        " unknown size as equally large, with room for all.",
    ),
    click.option(
        "--byte-tolerance", metavar="PERCENT", help="Allowed deviation from even bytes.  [default: 5%]"
    ),
    click.option(
        "--minimize",
        type=click.Choice(["moves", "bytes"]),
        help="What to have least of: moves, or bytes to copy and then moves.  [default: moves]",
    ),
    click.option(
        "--spread",
        type=click.Choice(["cluster", "topic"]),
        help="With add and balance: topic also moves replicas so that each topic is spread evenly."
        "  [default: cluster]",
    ),
    click.option(
        "--to",
        "relieve_to",
        metavar="PERCENT",
        help="With relieve: how full the disks of the brokers may be.  [default: 75%]  With --empty: how full"
        " the other directories may get.  [default: 80%]",
    ),
    click.option(
        "--empty",
        metavar="ID:DIRECTORY,...",
        multiple=True,
        help="With disks: move all replicas from these directories to the others of the same broker.",
    ),
    click.option(
        "--relieve",
        metavar="OVER:TO",
        help="Relieve all brokers whose disks are fuller than the first level, such as 85%:75%.",
    ),
    click.option(
        "--allow-partial",
        is_flag=True,
        help="With relieve, or --by with goals that do not even out: accept a plan after which a broker still"
        " has too much. With --empty: leave what fits nowhere.",
    ),
    click.option("--max-moves", metavar="N", type=Integer(0), help="Most replicas to move."),
    click.option("--max-bytes", metavar="SIZE", help="Most bytes to copy, such as 500GiB."),
    click.option(
        "--headroom",
        metavar="PERCENT",
        help="Share of a disk that stays free, where its size is known.  [default: 10%]",
    ),
    click.option("--fix-racks", is_flag=True, help="Also move replicas that break the rack rule."),
    click.option("--strict-racks", is_flag=True, help="Fail if replicas are left against the rack rule."),
    click.option(
        "--strict-sizes", is_flag=True, help="Fail if the size of a replica is not known, rather than guess."
    ),
    click.option("--disable-rack-aware", is_flag=True, help="Ignore racks."),
    click.option(
        "--weight", "weights", metavar="ID=FACTOR", multiple=True, help="Share of a broker, relative to 1."
    ),
    click.option(
        "--skip-moving", is_flag=True, help="Leave out partitions that are being reassigned or queued."
    ),
)
"""The options that `planner.proposing.read_goal_options` reads, by the same names."""

_EXECUTION_OPTIONS = (
    click.option(
        "--dry-run",
        is_flag=True,
        help="Also forecast the steps and the time under the limits and the schedule of the server.",
    ),
    click.option("--execute", is_flag=True, help="Submit the plan as a job of the running server."),
    click.option(
        "--replan",
        is_flag=True,
        help="With --execute: if replicas have changed since the snapshot, propose again from what is there.",
    ),
    click.option(
        "--throttle",
        metavar="RATE",
        callback=rate,
        help="With --execute: bytes per second to and from each broker, such as 50MB. With --dry-run: for"
        " the forecast.",
    ),
    OWN_LIMITS,
    click.option("--paused", is_flag=True, help="With --execute: start no step until the job is resumed."),
    click.option(
        "--wait",
        is_flag=True,
        help="With --execute: show progress until the job has ended, then whether drained brokers are empty.",
    ),
    click.option(
        "--watch",
        is_flag=True,
        help="With drain --execute: propose and wait again until the drained brokers are empty.",
    ),
    click.option(
        "--until",
        metavar="TIME",
        callback=ahead,
        help="With demote --execute: roll the job back at this time, such as 2h from now, or a local time.",
    ),
    TIMEOUT,
)


_FILE_OPTIONS = (
    click.option("--output", metavar="FILE", type=FILE, help="Write the plan to this file."),
    click.option(
        "--rollback-file",
        metavar="FILE",
        type=FILE,
        help="Write the plan that restores the present replicas.",
    ),
)


_GOAL_NAMES = (
    "topics", "exclude_topics", "exclude_brokers", "tolerance", "leaders", "by", "byte_tolerance",
    "minimize", "spread", "max_moves", "max_bytes", "headroom", "fix_racks", "strict_racks",
    "strict_sizes", "disable_rack_aware", "weights", "skip_moving", "relieve", "relieve_to", "allow_partial",
    "tolerance_of", "at", "allow_unknown", "empty",
)  # fmt: skip


def _with_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options. They are passed in groups: `options` of the goal, `files`, and `execution`."""

    @wraps(command)
    def run(*arguments: object, **values: object) -> R:
        options = {name: values.pop(name) for name in _GOAL_NAMES}
        execution = Execution._make(values.pop(name) for name in Execution._fields)
        files = Files._make(values.pop(name) for name in Files._fields)
        return command(*arguments, options=options, execution=execution, files=files, **values)

    for option in reversed((*_GOAL_OPTIONS, *_EXECUTION_OPTIONS, *_FILE_OPTIONS)):
        run = option(run)
    return run


@click.command(
    help=HELP,
    epilog=examples(
        "reassignd propose drain 3,4 --dry-run",
        "reassignd propose add 7 --execute --throttle 50MB --wait",
        "reassignd propose rf 3 --topics 'clicks|orders' --output plan.json",
        "reassignd propose rf 3:'orders.*' 2:'logs.*' --dry-run",
        "reassignd propose balance --max-bytes 500GiB",
        "reassignd propose disks --empty 3:/data2 --execute --throttle 50MB --wait",
    ),
)
@click.argument("goals", metavar="GOAL...", nargs=-1, shell_complete=goal_words)
@with_source
@_with_options
@with_spark("Read more than 50,000 partitions with Spark at this master, such as local[*].")
@with_table
@with_client
def propose(
    client: "Client",
    output_format: str,
    goals: Sequence[str],
    source: Source,
    files: Files,
    options: dict[str, Any],
    execution: Execution,
    where: Where,
) -> int:
    """Propose a plan, print it, and execute it if asked for."""
    if not goals and options["relieve"] is None:
        raise click.MissingParameter(param_hint="'GOAL...'", param_type="argument")
    execution.check(goals, source, writes_files=any(files))
    if where.asked:
        execution.check_spark()
    try:
        if DISKS in goals:
            check_execution(execution, spark=where.asked)
            return disks(client, source, goals, options, files, execution, output_format)
        goal_options = read_goal_options(goals, options)
        if execution.watch:
            return watch(
                client, goal_options, execution, lambda each: _show(each, files, output_format), output_format
            )
        return _propose(client, source, where, goal_options, files, execution, output_format)
    except PartialPlanError as error:
        if error.proposal.changes:
            _show(error.proposal, Files(None, None), output_format)
        return _fail(error.reasons)
    except ProposalError as error:
        return _fail(error.reasons)
    except (PlanError, MissingSolverError) as error:
        raise CommandError(str(error)) from error


def _propose(
    client: "Client",
    source: Source,
    where: Where,
    goal_options: GoalOptions,
    files: Files,
    execution: Execution,
    output_format: str,
) -> int:
    cluster, proposal = _proposed(client, source, where, goal_options)
    if execution.execute:
        proposal = _agreed(client, cluster, goal_options, proposal, replan=execution.replan)
    preview = _preview(client, source, cluster, proposal, execution) if execution.dry_run else None
    files.write(plan_json(proposal.changes), rollback_json(proposal.changes))
    _show(proposal, files, output_format, preview)
    if not execution.execute:
        return 0
    return execute(client, goal_options, proposal, execution, output_format, files.rollback_file)


def _proposed(
    client: "Client", source: Source, where: Where, goal_options: GoalOptions
) -> tuple[Snapshot, Proposal]:
    """Return the cluster and the proposal.

    A cluster that Spark has read is returned without its partitions.
    """
    if where.asked:
        with source.as_file(client) as path:
            if has_more_rows(path, MAX_INLINE_PARTITIONS):
                where.check()
                with running(*where) as spark:
                    return propose_on(spark, path, goal_options)
            cluster = read_snapshot(path)
    else:
        cluster = source.read(client)
    return cluster, propose_for(cluster, goal_options)


def _agreed(
    client: "Client", cluster: Snapshot, goal_options: GoalOptions, proposal: Proposal, *, replan: bool
) -> Proposal:
    """Return a proposal that fits the replicas that the server has now."""
    now = read_server(client)
    check_same_cluster(cluster, now)
    if reasons := not_as_in(now, proposal):
        if not replan:
            raise ProposalError(reasons)
        echo("reassignd: replicas have changed since the snapshot: proposed again", err=True)
        return propose_for(now, goal_options)
    return proposal


class Preview(NamedTuple):
    """What `--dry-run` adds to a proposal."""

    forecast: Forecast
    scheduled: Scheduled
    rate: Rate
    limits: Mapping[str, Any] | None
    """The answer of `/v1/limits`; None for another cluster than that of the server."""

    def lines(self) -> list[str]:
        """Return the preview as text."""
        return [
            *forecast_lines(self.forecast),
            f"the rate is {self.rate.origin}",
            *(() if self.limits is None else circumstance_lines(self.rate, self.limits)),
            *schedule_lines(self.scheduled),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as `execute --dry-run --format json` shows it."""
        return {
            "forecast": self.forecast._asdict(),
            "scheduled": self.scheduled._asdict(),
            "rate": self.rate._asdict(),
            "obstacles": [] if self.limits is None else self.limits["obstacles"],
        }


def _preview(
    client: "Client", source: Source, cluster: Snapshot, proposal: Proposal, execution: Execution
) -> Preview:
    """Compute the forecast, with the limits and the schedule of the running server if it is its cluster."""
    own = source == Source()
    answer = client.get("/v1/limits") if own else None
    if answer is not None:
        limits, rate = limits_of(answer, execution.limits), rate_of(answer, execution.throttle)
    else:
        limits = parse_limits(execution.limits or "")
        rate = Rate(BANDWIDTH, "assumed, because it is not the cluster of the server")
        if execution.throttle:
            rate = Rate(execution.throttle, "the given throttle")
    schedule = client.get("/v1/schedule")["schedule"] if own else None
    targets = [((row.topic, row.partition), replicas) for row, replicas in proposal.changes.items()]
    result = forecast(targets, cluster, limits, rate.bytes, rate.of_others, elects=proposal.elects)
    return Preview(result, within_schedule(schedule, result), rate, answer)


def _show(proposal: Proposal, files: Files, output_format: str, preview: Preview | None = None) -> None:
    if output_format == JSON:
        previewed = {} if preview is None else preview.as_dict()
        echo(as_json(as_dict(proposal) | previewed))
        return
    for line in [*summary(proposal), "", *columns(HEAD, broker_rows(proposal))]:
        echo(line)
    for line in [] if preview is None else ["", *preview.lines()]:
        echo(line)
    if files.output is not None:
        changed = counted(len(proposal.changes), "partition")
        echo(f"\n{files.output}: {changed}; see `reassignd plan` for a forecast")


def _fail(reasons: Sequence[str]) -> int:
    """Print the reasons on stderr, a line each. Return the exit code."""
    for reason in reasons[:MOST_REASONS]:
        echo(f"reassignd: {reason}", err=True)
    if len(reasons) > MOST_REASONS:
        echo(f"reassignd: and {len(reasons) - MOST_REASONS:,} more reasons", err=True)
    return 1
