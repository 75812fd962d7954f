"""The verb `execute`: submit a plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reassignd.commands import plans
from reassignd.commands.options import FORMAT, JSON, PLAN_FILE, TIMEOUT, WAIT, asks_server
from reassignd.commands.text import counted, refused_lines, say
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client


@click.command()
@PLAN_FILE
@WAIT
@TIMEOUT
@click.option("--queue", is_flag=True, help="Run it behind what runs; what moves is rolled back first.")
@click.option("--append", is_flag=True, help="Queue it even while an earlier queued plan has not started.")
@click.option(
    "--throttle",
    metavar="BYTES",
    type=click.IntRange(1, 2**63 - 1),
    help="Bytes a second to and from each broker, for as long as this job's replicas move.",
)
@click.option(
    "--priority",
    metavar="N",
    type=click.IntRange(-1000, 1000),
    help="Jobs with a higher one start their steps first.  [default: 0, queued -1]",
)
@FORMAT
@asks_server
def execute(
    client: "Client",
    form: str,
    plan_file: Path,
    wait: bool,
    timeout: float | None,
    **options: Any,
) -> int:
    """Submit a plan as a job, and print the replicas from before as a plan to go back by.

    The plan is refused as a whole when an entry is wrong.
    """
    return submit(client, form, plan_file, options, Waiting(wait, timeout))


class Waiting(NamedTuple):
    """Whether to follow the job, and for how many seconds at most."""

    wait: bool
    timeout: float | None


def submit(client: "Client", form: str, plan_file: Path, options: dict[str, Any], waiting: Waiting) -> int:
    """Submit the plan with these options of the API; the exit code."""
    answer = client.post("/v1/jobs", plans.read(plan_file), **options)
    if form == JSON:
        say(as_json(answer))
    else:
        _tell(answer)
    code = 1 if answer["refused"] else 0
    if not waiting.wait or answer["job"] is None:
        return code

    from reassignd.commands.follow import follow

    return max(code, follow(client, answer["job"], waiting.timeout))


def _tell(answer: dict[str, Any]) -> None:
    job = answer["job"]
    if job is not None:
        say(f"The replicas until now; to go back: reassignd rollback {job}\n")
        say(as_json(answer["rollback"]) + "\n")
        say(f"Job {job}: {counted(answer['accepted'], 'partition')} accepted.")
    elif not answer["refused"]:
        say("Nothing to do: every partition has these replicas, or is on its way to them.")
    for line in refused_lines(answer["refused"]):
        say(line, err=True)
