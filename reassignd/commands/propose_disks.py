"""`reassignd propose disks`: moves between the log directories of brokers (docs/proposals.md)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from common.wording import as_json, counted
from controller.model.disks import BrokerDir
from planner.disk_proposing import propose_disks, read_disk_goal
from planner.proposals.disks.disk_text import HEAD, as_dict, dir_rows, summary
from planner.proposals.disks.plan_text import plan_json, rollback_json
from planner.proposals.disks.result import DiskProposal, PartialDisksError
from reassignd.commands.cluster_source import Source
from reassignd.commands.options import JSON
from reassignd.commands.output import echo
from reassignd.commands.placement import named, show_notes
from reassignd.commands.plan_files import Files
from reassignd.commands.propose_execute import Execution
from reassignd.commands.table import columns

if TYPE_CHECKING:
    from reassignd.client import Client


def disks(
    client: "Client",
    source: Source,
    words: Sequence[str],
    options: Mapping[str, Any],
    files: Files,
    execution: Execution,
    output_format: str,
) -> int:
    """Propose moves, print them, write them to the files (the plan and its rollback), and execute them.

    Raises ProposalError, PlanError, CommandError.
    """
    goal = read_disk_goal(words, options)
    try:
        proposal = propose_disks(source.read(client), goal)
    except PartialDisksError as error:
        # Its lines about what stays are the error, except in JSON, which is complete.
        _show(error.proposal if output_format == JSON else error.proposal._replace(short=()), output_format)
        raise
    files.write(plan_json(proposal), rollback_json(proposal))
    _show(proposal, output_format)
    if files.output is not None and output_format != JSON:
        moves = counted(len(proposal.moves), "replica")
        echo(f"\n{files.output}: {moves}; execute it with kafka-reassign-partitions.sh")
    if not execution.execute:
        return 0
    if not proposal.moves:
        _keep_empty(client, goal.empty, output_format)
        return 0
    return _execute(client, proposal, goal.empty, execution, output_format)


def check_execution(execution: Execution, *, spark: bool) -> None:
    """Raise UsageError for options that moves between directories do not know."""
    for option, given in (("--dry-run", execution.dry_run), ("--replan", execution.replan)):
        if given:
            raise click.UsageError(f"{option} cannot be used with disks: without --execute nothing moves")
    if spark:
        raise click.UsageError("disks reads the cluster without Spark: leave out --master and --remote")


def _execute(
    client: "Client",
    proposal: DiskProposal,
    emptied: Sequence[BrokerDir],
    execution: Execution,
    output_format: str,
) -> int:
    """Order the moves as a job, and wait for its end if asked for; return the exit code."""
    answer = client.post(
        "/v1/disk-moves",
        {
            "moves": [each._asdict() for each in proposal.moves],
            "emptied": named(emptied),
        },
        throttle=execution.throttle,
        limits=execution.limits,
        paused=execution.paused or None,
    )
    job = answer["job"]
    show_notes(answer["notes"])
    if output_format == JSON:
        echo(as_json(answer))
    else:
        replicas = counted(answer["accepted"], "replica")
        echo(f"\nJob {job}: {replicas} accepted. `reassignd rollback {job}` moves them back.")
        _say_excluded(emptied, answer["notes"])
    if not execution.wait:
        return 0

    from reassignd.commands.follow import follow

    return follow(client, job, execution.timeout)


def _keep_empty(client: "Client", emptied: Sequence[BrokerDir], output_format: str) -> None:
    """Exclude directories that are empty already: there is no job that does it."""
    if not emptied:
        return
    answer = client.post("/v1/placement", {"exclude_dirs": named(emptied)})
    show_notes(answer["notes"])
    if output_format == JSON:
        echo(as_json(answer))
    else:
        _say_excluded(emptied, answer["notes"])


def _say_excluded(emptied: Sequence[BrokerDir], notes: Sequence[str]) -> None:
    if emptied and not notes:
        dirs = ",".join(map(str, emptied))
        echo(f"Nothing new is placed in {dirs}; `reassignd placement --allow {dirs}` ends that.")


def _show(proposal: DiskProposal, output_format: str) -> None:
    if output_format == JSON:
        moves = [each._asdict() for each in proposal.moves]
        echo(as_json(as_dict(proposal) | {"moves": moves}))
        return
    for line in [*summary(proposal), "", *columns(HEAD, dir_rows(proposal))]:
        echo(line)
