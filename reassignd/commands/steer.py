"""The verbs `pause`, `resume` and `priority`: what goes on, and what goes first."""

from typing import TYPE_CHECKING, Any

import click

from reassignd.commands.options import FORMAT, JSON, asks_server
from reassignd.commands.text import say
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

JOB = click.argument("number", metavar="[JOB]", type=click.IntRange(1), required=False)


@click.command()
@JOB
@FORMAT
@asks_server
def pause(client: "Client", form: str, number: int | None) -> None:
    """Start no more steps, of one job or of all. Steps in flight are finished."""
    _say(form, _post(client, number, "pause"), f"{_what(number)} is paused.")


@click.command()
@JOB
@FORMAT
@asks_server
def resume(client: "Client", form: str, number: int | None) -> None:
    """Go on, with one job or with everything. Jobs paused by themselves stay so until they are named."""
    _say(form, _post(client, number, "resume"), f"{_what(number)} goes on.")


@click.command()
@click.argument("number", metavar="JOB", type=click.IntRange(1))
@click.argument("priority", metavar="N", type=click.IntRange(-1000, 1000))
@FORMAT
@asks_server
def priority(client: "Client", form: str, number: int, priority: int) -> None:
    """Give a job another priority: a higher one starts its steps first. Write -- before a negative number."""
    answer = client.post(f"/v1/jobs/{number}/priority", {"priority": priority})
    _say(form, answer, f"Job {number} has priority {priority}.")


def _post(client: "Client", number: int | None, verb: str) -> Any:
    return client.post(f"/v1/{verb}" if number is None else f"/v1/jobs/{number}/{verb}")


def _what(number: int | None) -> str:
    return "Everything" if number is None else f"Job {number}"


def _say(form: str, answer: Any, text: str) -> None:
    say(as_json(answer) if form == JSON else text)
