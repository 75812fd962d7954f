"""The command `execute`: submit a plan, or forecast it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from common.wording import as_json, counted
from controller.model.jobs import PRIORITIES
from reassignd.commands.help import examples
from reassignd.commands.options import (
    FILE,
    FORMAT,
    JSON,
    OWN_LIMITS,
    TIMEOUT,
    VERBOSE,
    WAIT,
    Integer,
    rate,
    with_client,
    with_plan,
)
from reassignd.commands.output import echo, left_out_lines
from reassignd.commands.plan_file import STDIN, PlanFile, content_of
from reassignd.config.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

UNCHANGED = "the partition has these replicas already, or is being moved to them"

ROLLBACK_FILE = click.option(
    "--rollback-file",
    metavar="FILE",
    type=FILE,
    help="Write the current replicas to this file, as a plan; - for stdout.  "
    "[default: a new file in the current directory if stdout is a terminal, else stdout]",
)


@click.command(
    epilog=examples(
        "reassignd execute plan.json --dry-run",
        "reassignd execute plan.json --throttle 50MB --limits P=20,B=2 --wait",
        "reassignd execute plan.json --queue --rollback-file back.json",
    )
)
@with_plan
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only forecast the steps, the bytes and the time under the limits of the server.",
)
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
    metavar="RATE",
    callback=rate,
    help="Throttle to and from each broker while replicas of this job move: bytes per second, such as 50MB.",
)
@OWN_LIMITS
@click.option(
    "--priority",
    metavar="N",
    type=Integer(*PRIORITIES),
    help="Steps of jobs with a higher priority start first.  [default: 0, or -1 with --queue]",
)
@click.option("--paused", is_flag=True, help="Start no step until the job is resumed.")
@ROLLBACK_FILE
@VERBOSE
@FORMAT
@with_client
def execute(
    client: "Client",
    output_format: str,
    plan_file: Path,
    dry_run: bool,
    wait: bool,
    timeout: float | None,
    rollback_file: Path | None,
    verbose: bool,
    **options: bool | int | None,
) -> int:
    """Submit a plan as a job. PLAN is a file in the format of kafka-reassign-partitions; - for stdin.

    A plan with an invalid entry is rejected as a whole.
    """
    plan = PlanFile(plan_file, content_of(plan_file))
    shown = Shown(output_format, rollback_file, verbose, throttled=options["throttle"] is not None)
    try:
        if not dry_run:
            return submit(client, plan, options, WaitOptions(wait, timeout), shown)

        from reassignd.commands.dry_run import print_forecast

        with plan.errors():
            return print_forecast(client, plan.content, options, output_format)
    except CommandError as error:
        return _print_faults(error, shown)


class WaitOptions(NamedTuple):
    """Whether to wait for the job, and the maximum time in seconds."""

    enabled: bool
    timeout: float | None


class Shown(NamedTuple):
    """The parts of the answer that are printed, and the file for the current replicas."""

    output_format: str
    rollback_file: Path | None = None
    verbose: bool = False
    throttled: bool = False
    """The plan was given with a throttle."""


def submit(
    client: "Client", plan: PlanFile, options: Mapping[str, object], wait: WaitOptions, shown: Shown
) -> int:
    """Submit the plan with these query parameters of the API; return the exit code."""
    with plan.errors():
        answer = client.post("/v1/jobs", plan.content, **options)
    return finish(client, answer, wait, shown)


def finish(client: "Client", answer: dict[str, Any], wait: WaitOptions, shown: Shown) -> int:
    """Print the answer to a plan, and wait for the end of the job if asked for; return the exit code."""
    if shown.output_format == JSON:
        echo(as_json(answer))
    else:
        _print_answer(answer, shown)
    code = 1 if answer["refused"] else 0
    if not wait.enabled or answer["job"] is None:
        return code

    from reassignd.commands.follow import follow

    return max(code, follow(client, answer["job"], wait.timeout))


def _print_faults(error: CommandError, shown: Shown) -> int:
    """Print all wrong entries of the plan if the format or --verbose asks for them; else raise the error."""
    if not error.faults or not (shown.verbose or shown.output_format == JSON):
        raise error
    if shown.output_format == JSON:
        echo(as_json({"error": str(error), "faults": list(error.faults)}))
    else:
        echo("\n".join([f"reassignd: {error}", *error.faults[1:]]), err=True)
    return 1


def _print_answer(answer: dict[str, Any], shown: Shown) -> None:
    job = answer["job"]
    if job is not None:
        _keep_current(answer, shown.rollback_file)
        echo(f"Job {job}: {counted(answer['accepted'], 'partition')} accepted.")
        if answer["unchanged"]:
            entries = "entry is" if answer["unchanged"] == 1 else "entries are"
            echo(f"{answer['unchanged']:,} {entries} not in the job: {UNCHANGED}.")
    elif not answer["refused"]:
        echo("Nothing to do: every partition has these replicas already, or is being moved to them.")
        if shown.throttled:
            echo(
                "The throttle has no effect: `reassignd throttle` changes that of a job that runs.", err=True
            )
    for line in left_out_lines("refused", answer["refused"], "message", verbose=shown.verbose):
        echo(line, err=True)


def _keep_current(answer: dict[str, Any], given: Path | None) -> None:
    """Write the current replicas to a file, or print them.

    The job is accepted already: nothing here may fail.
    """
    job, current = answer["job"], as_json(answer["rollback"])
    path = given
    if path is None and sys.stdout.isatty():
        path = _unused(f"reassignd-rollback-of-job-{job}")
    if path is not None and path != STDIN:
        try:
            path.write_text(current + "\n", "utf-8")
        except OSError as error:
            echo(f"cannot write {path}: {error.strerror}", err=True)
        else:
            echo(f"Current replicas: {path} (`reassignd rollback {job}` restores them)")
            return
    echo(f"Current replicas (`reassignd rollback {job}` restores them):\n")
    echo(current + "\n")


def _unused(name: str) -> Path:
    """Return the name of a file that does not exist: another server may have had a job of that number."""
    path, number = Path(f"{name}.json"), 1
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}.json")
    return path
