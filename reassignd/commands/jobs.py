"""Reassignments and jobs: `list`, `jobs` and `job` show them.

`pause`, `resume`, `priority` and `throttle` change a job.
"""

from typing import TYPE_CHECKING, Any

import click

from common.rates import in_rate
from common.wording import as_json, counted
from controller.model.jobs import PRIORITIES
from reassignd.commands.completion import broker_numbers, job_numbers, topic_names
from reassignd.commands.help import examples
from reassignd.commands.listing import DESCENDING, OFFSET, limit, more_lines
from reassignd.commands.options import FORMAT, FORMAT_IGNORED, JSON, Integer, rate_or_none, with_client
from reassignd.commands.output import (
    DONE,
    duration,
    echo,
    echo_answer,
    job_lines,
    limit_of_job,
    moved_by,
    part_lines,
    reason_lines,
    when,
)
from reassignd.commands.table import look, with_table

if TYPE_CHECKING:
    from reassignd.client import Client


STATES = (
    "moving",
    "waiting",
    "queued",
    "rolling back first",
    "done",
    "rolled back",
    "taken over",
    "topic deleted",
    "stopped",
)


@click.command("list", epilog=examples("reassignd list > ongoing.json"))
@FORMAT_IGNORED
@with_client
def list_(client: "Client") -> None:
    """Print the ongoing reassignments as a plan, with adding and removing replicas; {} if there are none.

    `replicas` is the target, so the output is a valid plan for `reassignd execute`.
    """
    for chunk in client.stream("/v1/reassignments"):
        click.echo(chunk, nl=False)


@click.command(epilog=examples("reassignd jobs", "reassignd jobs --limit 100 -o wide"))
@limit(20)
@OFFSET
@with_table
@with_client
def jobs(client: "Client", output_format: str, limit: int, offset: int) -> None:
    """List the jobs, newest first."""
    answer = client.get("/v1/jobs", limit=limit, offset=offset)
    if output_format == JSON:
        echo(as_json(answer))
        return
    if not answer["total"]:
        echo("No jobs yet.")
        return
    for line in job_lines(answer["jobs"], look().width):
        echo(line)
    older = answer["total"] - offset - len(answer["jobs"])
    if older > 0:
        echo(f"{counted(older, 'older job')}: --offset {offset + limit}")


@click.command(
    epilog=examples(
        "reassignd job 3",
        "reassignd job 3 --state waiting",
        "reassignd job 3 --topic clicks --sort bytes --descending",
    )
)
@click.argument("number", metavar="JOB", type=Integer(1), shell_complete=job_numbers)
@limit(20)
@OFFSET
@click.option("--state", type=click.Choice(STATES), help="Only partitions in this state.")
@click.option(
    "--topic",
    metavar="TEXT",
    shell_complete=topic_names,
    help="Only partitions of topics whose name contains this text.",
)
@click.option(
    "--broker",
    metavar="ID",
    type=Integer(0),
    shell_complete=broker_numbers,
    help="Only partitions with a replica on this broker, now, originally or in the target.",
)
@click.option(
    "--sort",
    type=click.Choice(["progress", "partition", "state", "bytes"]),
    help="The order of the partitions.  [default: progress: moving ones first, ended ones last]",
)
@DESCENDING
@with_table
@with_client
def job(
    client: "Client", output_format: str, number: int, descending: bool, **query: str | int | None
) -> None:
    """Show the progress of a job, its partitions, and the reasons of those that do not move."""
    given = {name: value for name, value in query.items() if value is not None}
    answer = client.get(f"/v1/jobs/{number}", **given, **({"descending": "true"} if descending else {}))
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in _lines(answer):
        echo(line)


def _lines(answer: dict[str, Any]) -> list[str]:
    row = answer["job"]
    lines = list(job_lines([row], look().width))
    if row["ended_ms"]:
        counts = ", ".join(f"{times:,} {ending}" for ending, times in row["endings"].items())
        took = duration((row["ended_ms"] - row["created_ms"]) / 1000)
        lines.append(f"Ended {when(row['ended_ms'])} after {took}: {counts}")
    elif others := [f"{n:,} {how}" for how, n in row["endings"].items() if how != DONE]:
        lines.append(f"Not at the target: {', '.join(others)}")
    if row["rolled_back_by"]:
        lines.append(f"Rolled back by job {row['rolled_back_by']}.")
    if row["throttle"]:
        lines.append(f"Throttle: {in_rate(row['throttle'])}")
    if row["limits"]:
        used = [limit_of_job(each) for each in row["limits"]]
        lines.append(f"Limits of its own: {'; '.join(used)}")
    if answer["reasons"]:
        lines += ["", "Not moving, by reason:", *reason_lines(answer["reasons"], answer["other_reasons"])]
    if answer["partitions"]:
        lines += ["", *part_lines(answer["partitions"])]
    elif not answer["matching"]:
        lines += ["", f"No {moved_by(row)} matches, of {counted(row['total'], moved_by(row))}."]
    return [*lines, *more_lines(answer, "matching", moved_by(row))]


JOB = click.argument("number", metavar="[JOB]", type=Integer(1), required=False, shell_complete=job_numbers)


@click.command(epilog=examples("reassignd pause", "reassignd pause 3"))
@JOB
@FORMAT
@with_client
def pause(client: "Client", output_format: str, number: int | None) -> None:
    """Start no more steps, of one job or of all jobs. Steps in flight finish."""
    echo_answer(output_format, _post(client, number, "pause"), f"{_subject(number)} is paused.")


@click.command(epilog=examples("reassignd resume", "reassignd resume 3"))
@JOB
@FORMAT
@with_client
def resume(client: "Client", output_format: str, number: int | None) -> None:
    """Resume one job, or lift the pause of all jobs. Jobs that were paused by number stay paused."""
    echo_answer(output_format, _post(client, number, "resume"), f"{_subject(number)} is resumed.")


@click.command(epilog=examples("reassignd priority 3 5", "reassignd priority 3 -- -1"))
@click.argument("number", metavar="JOB", type=Integer(1), shell_complete=job_numbers)
@click.argument("priority", metavar="N", type=Integer(*PRIORITIES))
@FORMAT
@with_client
def priority(client: "Client", output_format: str, number: int, priority: int) -> None:
    """Change the priority of a job.

    Jobs with a higher priority start their steps first. Write -- before a negative number.
    """
    answer = client.post(f"/v1/jobs/{number}/priority", {"priority": priority})
    echo_answer(output_format, answer, f"Job {number} has priority {priority}.")


@click.command(epilog=examples("reassignd throttle 3 50MB", "reassignd throttle 3 none"))
@click.argument("number", metavar="JOB", type=Integer(1), shell_complete=job_numbers)
@click.argument("throttle", metavar="RATE", callback=rate_or_none)
@FORMAT
@with_client
def throttle(client: "Client", output_format: str, number: int, throttle: int | None) -> None:
    """Change the throttle of a job: bytes per second, such as 50MB, or none.

    It applies at once, also to steps in flight.

    The lowest of the throttles of the cluster (`reassignd limits`), the jobs and the schedule is in force.
    """
    answer = client.post(f"/v1/jobs/{number}/throttle", {"throttle": throttle})
    has = "no throttle of its own" if throttle is None else f"a throttle of {in_rate(throttle)}"
    echo_answer(output_format, answer, f"Job {number} has {has}.")


def _post(client: "Client", number: int | None, verb: str) -> dict[str, Any]:
    return client.post(f"/v1/{verb}" if number is None else f"/v1/jobs/{number}/{verb}")


def _subject(number: int | None) -> str:
    return "Everything" if number is None else f"Job {number}"
