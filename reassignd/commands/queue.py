"""The command `queue`: plans that run after existing jobs (`--execute-queue` of KIP-236 and others)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from common.wording import as_json, counted
from controller.cluster.topics import place
from controller.model.plan import Entry, plan_of
from controller.model.replicas import Replicas
from planner.model.snapshot import TOPIC_PARTITION, Partition, Snapshot
from planner.proposals.problem.goal import Goal, MissingSolverError, ProposalError, problem_of
from planner.proposing import propose, read_broker_ids
from reassignd.commands.cluster_source import read_server
from reassignd.commands.completion import broker_numbers
from reassignd.commands.execute import ROLLBACK_FILE, Shown, WaitOptions, submit
from reassignd.commands.help import examples
from reassignd.commands.listing import limit
from reassignd.commands.options import (
    FILE,
    FORMAT,
    JSON,
    TIMEOUT,
    VERBOSE,
    WAIT,
    with_client,
    with_plan,
)
from reassignd.commands.output import echo, part_lines
from reassignd.commands.plan_file import PlanFile, content_of
from reassignd.commands.table import Row, with_table
from reassignd.config.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

Lists = dict[TOPIC_PARTITION, Replicas]


@click.group(epilog=examples("reassignd queue execute plan.json", "reassignd queue verify"))
def queue() -> None:
    """Queue plans behind existing jobs (KIP-236)."""


def _brokers(_: click.Context, __: click.Parameter, text: str) -> list[int]:
    try:
        return read_broker_ids(text)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error


@queue.command(
    epilog=examples(
        "reassignd queue generate --topics-to-move-json-file topics.json --broker-list 1,2,3 > plan.json"
    )
)
@click.option(
    "--topics-to-move-json-file",
    "topics_file",
    metavar="FILE",
    type=FILE,
    required=True,
    help='The topics: {"version":1,"topics":[{"topic":"foo"}]}',
)
@click.option(
    "--broker-list",
    metavar="ID,ID,...",
    shell_complete=broker_numbers,
    required=True,
    callback=_brokers,
    help="The brokers to spread the topics over.",
)
@click.option(
    "--disable-rack-aware", is_flag=True, help="Do not spread the replicas of a partition over racks."
)
@FORMAT
@with_client
def generate(
    client: "Client",
    output_format: str,
    topics_file: Path,
    broker_list: Sequence[int],
    disable_rack_aware: bool,
) -> None:
    """Propose a plan that spreads topics over brokers with the fewest moves. Nothing is moved or queued.

    Without the extra reassignd[propose], replicas are placed in turn, regardless of where they are.
    """
    topics = _topics(content_of(topics_file), topics_file)
    cluster = read_server(client)
    now = [row for topic in topics for row in _partitions(cluster, topic)]
    chosen = Chosen(frozenset(broker_list), not disable_rack_aware)
    proposed = _proposed(cluster, now, chosen)
    if output_format == JSON:
        echo(as_json({"current": _plan(now), "proposed": _plan(proposed)}))
    else:
        # Only the plan is on stdout, so that it can be piped into `reassignd execute -`.
        echo(f"Current replicas:\n{as_json(_plan(now))}\n\nProposed plan:", err=True)
        echo(as_json(_plan(proposed)))


@queue.command(epilog=examples("reassignd queue verify"))
@limit(20)
@with_table
@with_client
def verify(client: "Client", output_format: str, limit: int) -> int:
    """List the queued entries that have not started. Exits with 1 while there are any."""
    answer = client.get("/v1/queue", limit=limit)
    if output_format == JSON:
        echo(as_json(answer))
    elif not answer["total"]:
        echo("The queue is empty.")
    else:
        echo(f"{counted(answer['total'], 'partition')} in the queue:")
        for line in part_lines([{**entry, "step": None} for entry in answer["entries"]]):
            echo(line)
    return 1 if answer["total"] else 0


@queue.command(epilog=examples("reassignd queue execute plan.json --append"))
@with_plan
@click.option(
    "--append",
    is_flag=True,
    help="Queue the plan even if entries of an earlier queued plan have not started.",
)
@WAIT
@TIMEOUT
@ROLLBACK_FILE
@VERBOSE
@FORMAT
@with_client
def execute(
    client: "Client",
    output_format: str,
    plan_file: Path,
    append: bool,
    wait: bool,
    timeout: float | None,
    rollback_file: Path | None,
    verbose: bool,
) -> int:
    """Submit a plan that runs after existing jobs. The same as `reassignd execute --queue`."""
    options = {"queue": True, "append": append}
    shown = Shown(output_format, rollback_file, verbose)
    plan = PlanFile(plan_file, content_of(plan_file))
    return submit(client, plan, options, WaitOptions(wait, timeout), shown)


def _topics(data: bytes, path: Path) -> list[str]:
    try:
        topics = [row["topic"] for row in json.loads(data)["topics"]]
    except (ValueError, LookupError, TypeError) as error:
        raise CommandError(f'{path}: expected {{"version":1,"topics":[{{"topic":"foo"}}]}}') from error
    if not all(isinstance(each, str) for each in topics) or len(set(topics)) != len(topics):
        raise CommandError(f"{path}: expected topic names, each once")
    return topics


class Chosen(NamedTuple):
    """The brokers of --broker-list, and whether replicas are spread over their racks."""

    brokers: frozenset[int]
    rack_aware: bool


def _partitions(cluster: Snapshot, topic: str) -> list[Partition]:
    found = [row for (name, _), row in sorted(cluster.partitions.items()) if name == topic]
    if not found:
        raise CommandError(f"there is no topic {topic}")
    if any(row.deleting for row in found):
        raise CommandError(f"topic {topic} waits for its deletion")
    return found


def _proposed(cluster: Snapshot, now: Sequence[Partition], chosen: Chosen) -> list[Partition]:
    """Return the partitions with their new replicas. Raises CommandError if the brokers are not enough."""
    for broker in sorted(chosen.brokers):
        if broker not in cluster.brokers:
            raise CommandError(f"--broker-list: broker {broker} is not registered")
    for row in now:
        if len(row.replicas) > len(chosen.brokers):
            raise CommandError(
                f"{row.topic} has {counted(len(row.replicas), 'replica')},"
                f" --broker-list only {counted(len(chosen.brokers), 'broker')}"
            )
    try:
        lists = _fewest_moves(cluster, now, chosen)
    except MissingSolverError:
        echo(
            "reassignd: the plan copies more than it has to; with reassignd[propose] it copies the least",
            err=True,
        )
        lists = _round_robin(cluster, now, chosen)
    except ProposalError as error:
        raise CommandError(error.reasons[0]) from error
    return [row._replace(replicas=lists[row.topic, row.partition]) for row in now]


def _fewest_moves(cluster: Snapshot, now: Sequence[Partition], chosen: Chosen) -> Lists:
    """Even out these topics over the chosen brokers.

    Other topics do not count, as with kafka-reassign-partitions.

    Raises MissingSolverError, ProposalError.
    """
    rows = {(row.topic, row.partition): row._replace(target=None) for row in now}
    goal = Goal(
        drain=frozenset(cluster.brokers) - chosen.brokers,
        even_counts=True,
        even_leaders=True,
        repair_racks=chosen.rack_aware,
        rack_aware=chosen.rack_aware,
    )
    proposal = propose(problem_of(Snapshot(cluster.brokers, rows), goal))
    changes = {(row.topic, row.partition): replicas for row, replicas in proposal.changes.items()}
    return {key: row.replicas for key, row in rows.items()} | changes


def _round_robin(cluster: Snapshot, now: Sequence[Partition], chosen: Chosen) -> Lists:
    """Place each partition regardless of where it is."""
    racks = {
        each: cluster.brokers[each].rack if chosen.rack_aware else None for each in sorted(chosen.brokers)
    }
    return {
        (row.topic, row.partition): next(place(racks, len(row.replicas), number))
        for number, row in enumerate(now)
    }


def _plan(rows: Sequence[Partition]) -> Row:
    return plan_of(Entry(row.topic, row.partition, row.replicas) for row in rows)
