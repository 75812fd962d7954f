"""The verbs `list`, `jobs` and `job`: what there is."""

from typing import TYPE_CHECKING, Any

import click

from reassignd.commands.options import FORMAT, JSON, JSON_ANYWAY, asks_server
from reassignd.commands.text import counted, job_lines, part_lines, reason_lines, say, when
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

COUNT = click.IntRange(0, 10_000)


@click.command("list")
@JSON_ANYWAY
@asks_server
def list_(client: "Client") -> None:
    """Print what is ongoing as a plan, with what each partition gains and loses; {} when nothing is.

    `replicas` is the target, so `reassignd execute` takes the same plan again.
    """
    for chunk in client.stream("/v1/reassignments"):
        click.echo(chunk, nl=False)


@click.command()
@click.option("--limit", metavar="N", type=COUNT, default=20, help="How many at most.  [default: 20]")
@click.option("--offset", metavar="N", type=click.IntRange(0), default=0, help="How many to leave out.")
@FORMAT
@asks_server
def jobs(client: "Client", form: str, limit: int, offset: int) -> None:
    """List the jobs, the newest first."""
    answer = client.get("/v1/jobs", limit=limit, offset=offset)
    if form == JSON:
        say(as_json(answer))
        return
    if not answer["total"]:
        say("No jobs yet.")
        return
    for line in job_lines(answer["jobs"]):
        say(line)
    older = answer["total"] - offset - len(answer["jobs"])
    if older > 0:
        say(f"and {counted(older, 'older one')}: --offset {offset + limit}")


@click.command()
@click.argument("number", metavar="JOB", type=click.IntRange(1))
@click.option("--limit", metavar="N", type=COUNT, default=20, help="Partitions shown.  [default: 20]")
@click.option("--offset", metavar="N", type=click.IntRange(0), default=0, help="How many to leave out.")
@FORMAT
@asks_server
def job(client: "Client", form: str, number: int, limit: int, offset: int) -> None:
    """Show a job: how far it is, its partitions, and why those that do not move do not."""
    answer = client.get(f"/v1/jobs/{number}", limit=limit, offset=offset)
    if form == JSON:
        say(as_json(answer))
        return
    for line in _lines(answer):
        say(line)


def _lines(answer: dict[str, Any]) -> list[str]:
    row = answer["job"]
    lines = list(job_lines([row]))
    if row["ended_ms"]:
        endings = ", ".join(f"{times:,} {ending}" for ending, times in answer["endings"].items())
        lines.append(f"Ended {when(row['ended_ms'])}: {endings}")
    if row["throttle"]:
        lines.append(f"Throttle: {row['throttle']:,} bytes/s")
    if answer["reasons"]:
        lines += ["", "Why they do not move:", *reason_lines(answer["reasons"])]
    if answer["partitions"]:
        lines += ["", *part_lines(answer["partitions"])]
    if answer["next"] is not None:
        lines.append(f"and more: --offset {answer['next']}")
    return lines
