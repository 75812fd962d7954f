"""The command `execute`: submit a plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from common.counted import counted
from reassignd.commands.options import FORMAT, JSON, PLAN_FILE, TIMEOUT, WAIT, read_plan_file, with_client
from reassignd.commands.text import echo, refused_lines
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

UNCHANGED = "the partition has these replicas already, or is being moved to them"


@click.command()
@PLAN_FILE
@WAIT
@TIMEOUT
@click.option(
    "--queue",
    is_flag=True,
    help="Queue the plan behind existing jobs. Partitions that are moving are rolled back first.",
)
@click.option(
    "--append",
    is_flag=True,
    help="Queue the plan even if entries of an earlier queued plan have not started.",
)
@click.option(
    "--throttle",
    metavar="BYTES",
    type=click.IntRange(1, 2**63 - 1),
    help="Throttle in bytes per second to and from each broker, while replicas of this job move.",
)
@click.option(
    "--priority",
    metavar="N",
    type=click.IntRange(-1000, 1000),
    help="Steps of jobs with a higher priority start first.  [default: 0, or -1 with --queue]",
)
@FORMAT
@with_client
def execute(
    client: "Client",
    output_format: str,
    plan_file: Path,
    wait: bool,
    timeout: float | None,
    **options: object,
) -> int:
    """Submit a plan as a job, and print the current replicas as a plan.

    A plan with an invalid entry is rejected as a whole.
    """
    return submit(client, output_format, read_plan_file(plan_file), options, WaitOptions(wait, timeout))


class WaitOptions(NamedTuple):
    """Whether to wait for the job, and the maximum time in seconds."""

    enabled: bool
    timeout: float | None


def submit(
    client: "Client", output_format: str, plan: bytes, options: Mapping[str, object], wait: WaitOptions
) -> int:
    """Submit the plan with these query parameters of the API; return the exit code."""
    answer = client.post("/v1/jobs", plan, **options)
    if output_format == JSON:
        echo(as_json(answer))
    else:
        _print_answer(answer)
    code = 1 if answer["refused"] else 0
    if not wait.enabled or answer["job"] is None:
        return code

    from reassignd.commands.follow import follow

    return max(code, follow(client, answer["job"], wait.timeout))


def _print_answer(answer: dict[str, Any]) -> None:
    job = answer["job"]
    if job is not None:
        echo(f"Current replicas (`reassignd rollback {job}` restores them):\n")
        echo(as_json(answer["rollback"]) + "\n")
        echo(f"Job {job}: {counted(answer['accepted'], 'partition')} accepted.")
        if answer["unchanged"]:
            entries = "entry is" if answer["unchanged"] == 1 else "entries are"
            echo(f"{answer['unchanged']:,} {entries} not in the job: {UNCHANGED}.")
    elif not answer["refused"]:
        echo("Nothing to do: every partition has these replicas already, or is being moved to them.")
    for line in refused_lines(answer["refused"]):
        echo(line, err=True)
