"""The command `propose`: write a plan that meets a goal with the fewest moves. docs/proposals.md explains the method."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from common.plan_errors import PlanError
from planner.proposals.goal import Goal, ProposalError, problem_of
from planner.proposals.goals_text import broker_ids, read_goal, read_tolerance, read_weights
from planner.proposals.network import MissingSolverError
from planner.proposals.proposal import Proposal
from planner.proposals.proposal import propose as find_proposal
from planner.proposals.text import HEAD, as_dict, broker_rows, plan_json, rollback_json, summary
from planner.snapshot import TOPIC_PARTITION, Snapshot, parse_snapshot, read_snapshot
from reassignd.commands.execute import WaitOptions, submit
from reassignd.commands.options import FILE, FORMAT, JSON, with_client
from reassignd.commands.text import columns, counted, echo
from reassignd.errors import CommandError
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

HELP = """Propose a plan that meets goals with the fewest moves. Nothing moves without --execute.

\b
Goals, several of which can be combined:
  drain ID,ID,...  leave no replica on these brokers
  add ID,ID,...    fill new brokers: even out all brokers
  balance          even out replicas and preferred leaders
  rf N             change the replication factor
  racks            obey the rack rule
  leaders          even out preferred leaders; no data moves
"""

MOST_REASONS = 20
"""Most reasons that a failed proposal prints."""


@click.command(help=HELP)
@click.argument("goals", metavar="GOAL...", nargs=-1, required=True)
@click.option(
    "--snapshot",
    metavar="FILE",
    type=FILE,
    help="The cluster, from `reassignd snapshot`.  [default: the cluster of the running server]",
)
@click.option("--topics", metavar="REGEX", help="Change only topics whose whole name matches.")
@click.option("--exclude-topics", metavar="REGEX", help="Do not change topics whose whole name matches.")
@click.option(
    "--exclude-brokers", metavar="ID,ID,...", help="Brokers that keep their replicas and get no new ones."
)
@click.option("--tolerance", metavar="PERCENT", help="Allowed deviation from even counts.  [default: 5%]")
@click.option(
    "--leaders",
    type=click.Choice(["balance", "keep"]),
    help="Whether to even out preferred leaders.  [default: balance for add, balance and leaders, else keep]",
)
@click.option("--max-moves", metavar="N", type=click.IntRange(0), help="Most replicas to move.")
@click.option("--fix-racks", is_flag=True, help="Also move replicas that break the rack rule.")
@click.option("--disable-rack-aware", is_flag=True, help="Ignore racks.")
@click.option(
    "--weight", "weights", metavar="ID=FACTOR", multiple=True, help="Share of a broker, relative to 1."
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the plan to this file.")
@click.option(
    "--rollback-file", metavar="FILE", type=FILE, help="Write the plan that restores the present replicas."
)
@click.option("--execute", is_flag=True, help="Submit the plan as a job of the running server.")
@FORMAT
@with_client
def propose(
    client: "Client",
    output_format: str,
    goals: Sequence[str],
    snapshot: Path | None,
    output: Path | None,
    rollback_file: Path | None,
    execute: bool,
    **options: Any,
) -> int:
    """Propose a plan, print it, and execute it if asked for."""
    try:
        goal, topics = _goal(goals, options), _topics(options["topics"], options["exclude_topics"])
        cluster = read_snapshot(snapshot) if snapshot is not None else _snapshot_of(client)
        moving = _moving(client) if snapshot is None else frozenset[TOPIC_PARTITION]()
        proposal = find_proposal(problem_of(cluster, goal, topics, moving))
    except ProposalError as error:
        return _fail(error.reasons)
    except (PlanError, MissingSolverError) as error:
        raise CommandError(str(error)) from error
    plan = plan_json(proposal.changes)
    _write(output, plan)
    _write(rollback_file, rollback_json(proposal.changes))
    if output_format == JSON:
        echo(as_json(as_dict(proposal)))
    else:
        _print(proposal, output)
    return _execute(client, proposal, plan, snapshot, output_format) if execute else 0


def _goal(words: Sequence[str], options: dict[str, Any]) -> Goal:
    goal = read_goal(words)
    if options["tolerance"] is not None:
        goal = goal._replace(tolerance=read_tolerance(options["tolerance"]))
    if options["leaders"] is not None:
        goal = goal._replace(even_leaders=options["leaders"] == "balance")
    if options["exclude_brokers"] is not None:
        goal = goal._replace(receive_nothing=broker_ids("--exclude-brokers", options["exclude_brokers"]))
    return goal._replace(
        max_moves=options["max_moves"],
        repair_racks=goal.repair_racks or options["fix_racks"],
        rack_aware=not options["disable_rack_aware"],
        weights=read_weights(options["weights"]),
    )


def _topics(chosen: str | None, excluded: str | None) -> Callable[[str], bool]:
    include, exclude = _pattern("--topics", chosen), _pattern("--exclude-topics", excluded)

    def may_change(topic: str) -> bool:
        return (include is None or include.fullmatch(topic) is not None) and (
            exclude is None or exclude.fullmatch(topic) is None
        )

    return may_change


def _pattern(option: str, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise CommandError(f"{option} '{text}' is not a regular expression: {error}") from error


def _snapshot_of(client: "Client") -> Snapshot:
    lines = b"".join(client.stream("/v1/snapshot")).splitlines()
    return parse_snapshot("the server's snapshot", lines)


def _moving(client: "Client") -> frozenset[TOPIC_PARTITION]:
    answer = json.loads(b"".join(client.stream("/v1/reassignments")) or b"{}")
    return frozenset((row["topic"], row["partition"]) for row in answer.get("partitions", ()))


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def _print(proposal: Proposal, output: Path | None) -> None:
    for line in [*summary(proposal), "", *columns(HEAD, broker_rows(proposal))]:
        echo(line)
    if output is not None:
        echo(
            f"\n{output}: {counted(len(proposal.changes), 'partition')}; see `reassignd plan` for a forecast"
        )


def _execute(
    client: "Client", proposal: Proposal, plan: str, snapshot: Path | None, output_format: str
) -> int:
    """Submit the plan. Refused if a partition is not where the snapshot has it."""
    if not proposal.changes:
        return 0
    if snapshot is not None and (changed := _changed_since(proposal, _snapshot_of(client))):
        return _fail(changed)
    return submit(client, output_format, plan.encode(), {}, WaitOptions(enabled=False, timeout=None))


def _changed_since(proposal: Proposal, cluster: Snapshot) -> list[str]:
    """Return a line for each partition whose replicas are not those of the snapshot any more."""
    return [
        f"{row.topic}-{row.partition} has changed since the snapshot; take a new snapshot"
        for row in proposal.changes
        if (now := cluster.partitions.get((row.topic, row.partition))) is None or now.replicas != row.replicas
    ]


def _fail(reasons: Sequence[str]) -> int:
    """Print the reasons on stderr, a line each. Return the exit code."""
    for reason in reasons[:MOST_REASONS]:
        echo(f"reassignd: {reason}", err=True)
    if len(reasons) > MOST_REASONS:
        echo(f"reassignd: and {len(reasons) - MOST_REASONS:,} more reasons", err=True)
    return 1
