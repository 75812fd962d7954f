"""The commands `pause`, `resume`, `priority` and `throttle`."""

from typing import TYPE_CHECKING, Any

import click

from common.wording import as_json
from controller.model.jobs import PRIORITIES
from reassignd.commands.completion import job_numbers
from reassignd.commands.options import FORMAT, JSON, with_client
from reassignd.commands.rates import rate_or_none
from reassignd.commands.text import echo

if TYPE_CHECKING:
    from reassignd.client import Client

JOB = click.argument(
    "number", metavar="[JOB]", type=click.IntRange(1), required=False, shell_complete=job_numbers
)


@click.command()
@JOB
@FORMAT
@with_client
def pause(client: "Client", output_format: str, number: int | None) -> None:
    """Start no more steps, of one job or of all jobs. Steps in flight finish."""
    _print(output_format, _post(client, number, "pause"), f"{_subject(number)} is paused.")


@click.command()
@JOB
@FORMAT
@with_client
def resume(client: "Client", output_format: str, number: int | None) -> None:
    """Resume one job, or lift the pause of all jobs. Jobs that were paused by number stay paused."""
    _print(output_format, _post(client, number, "resume"), f"{_subject(number)} is resumed.")


@click.command()
@click.argument("number", metavar="JOB", type=click.IntRange(1), shell_complete=job_numbers)
@click.argument("priority", metavar="N", type=click.IntRange(*PRIORITIES))
@FORMAT
@with_client
def priority(client: "Client", output_format: str, number: int, priority: int) -> None:
    """Change the priority of a job. Jobs with a higher priority start their steps first. Write -- before a negative number."""
    answer = client.post(f"/v1/jobs/{number}/priority", {"priority": priority})
    _print(output_format, answer, f"Job {number} has priority {priority}.")


@click.command()
@click.argument("number", metavar="JOB", type=click.IntRange(1), shell_complete=job_numbers)
@click.argument("throttle", metavar="RATE", callback=rate_or_none)
@FORMAT
@with_client
def throttle(client: "Client", output_format: str, number: int, throttle: int | None) -> None:
    """Change the throttle of a job: bytes per second, such as 50MB, or none. It applies at once, also to steps in flight.

    The lowest of the throttles of the cluster (`reassignd limits`), the jobs and the schedule is in force.
    """
    answer = client.post(f"/v1/jobs/{number}/throttle", {"throttle": throttle})
    has = "no throttle of its own" if throttle is None else f"a throttle of {throttle:,} bytes/s"
    _print(output_format, answer, f"Job {number} has {has}.")


def _post(client: "Client", number: int | None, verb: str) -> dict[str, Any]:
    return client.post(f"/v1/{verb}" if number is None else f"/v1/jobs/{number}/{verb}")


def _subject(number: int | None) -> str:
    return "Everything" if number is None else f"Job {number}"


def _print(output_format: str, answer: object, text: str) -> None:
    echo(as_json(answer) if output_format == JSON else text)
