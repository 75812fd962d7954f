"""The verbs `cancel` and `rollback`: take it back (KIP-236)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from reassignd.commands.options import FORMAT, JSON, TIMEOUT, WAIT, asks_server
from reassignd.commands.text import counted, listed, refused_lines, say
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client


NAMED = 20
"""Partitions of a cancel that are named."""


def _keys(_: click.Context, __: click.Parameter, names: Sequence[str]) -> list[dict[str, Any]]:
    keys = []
    for name in names:
        topic, _dash, number = name.rpartition("-")
        if not topic or not (number.isascii() and number.isdecimal()):
            raise click.BadParameter(f"'{name}', expected TOPIC-N")
        keys.append({"topic": topic, "partition": int(number)})
    return keys


def _ways_back(answer: dict[str, Any]) -> Iterator[str]:
    """Where the partitions go, and which throttle stays (KIP-236)."""
    for row in answer["partitions"][:NAMED]:
        yield f"{row['topic']}-{row['partition']} goes to {listed(row['replicas'])}"
    if answer["cancelled"] > NAMED:
        yield f"and {answer['cancelled'] - NAMED:,} more"
    rate, others = answer["throttle"]["bytes_per_second"], answer["throttle"]["set_by_others"]
    if rate is not None:
        yield f"The throttle of {rate:,} bytes/s stays until the last step in flight has ended."
    if others is None:
        yield "A throttle that kafka-reassign-partitions has set stays until its --verify."
    elif others:
        brokers = ", ".join(map(str, others))
        yield f"A throttle that reassignd has not set stays on {counted(len(others), 'broker')} ({brokers}) until kafka-reassign-partitions --verify."


@click.command()
@click.option("--all", "everything", is_flag=True, help="Everything that is ongoing.")
@click.option("--topic", metavar="TOPIC", help="What is ongoing in this topic.")
@click.option("--job", metavar="JOB", type=click.IntRange(1), help="What this job has not finished.")
@click.option(
    "--partition", "partitions", metavar="TOPIC-N", multiple=True, callback=_keys, help="May come repeatedly."
)
@FORMAT
@asks_server
def cancel(
    client: "Client",
    form: str,
    everything: bool,
    topic: str | None,
    job: int | None,
    partitions: list[dict[str, Any]],
) -> int:
    """Cancel reassignments: back to the original replicas, or stop (reassignment.cancel.mode).

    What a job has finished stays; `reassignd rollback` takes that back too.
    """
    wanted = {"all": everything or None, "topic": topic, "job": job, "partitions": partitions or None}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) != 1:
        raise click.UsageError("one of --all, --topic, --job and --partition says what to cancel")
    answer = client.post("/v1/reassignments/cancel", given)
    if form == JSON:
        say(as_json(answer))
    elif answer["cancelled"] or not answer["refused"]:
        count = answer["cancelled"]
        say(f"{counted(count, 'partition')} cancelled." if count else "Nothing to cancel.")
        for line in _ways_back(answer) if count else ():
            say(line)
    if form != JSON:
        for line in refused_lines(answer["refused"]):
            say(line, err=True)
    return 1 if answer["refused"] else 0


@click.command()
@click.argument("number", metavar="JOB", type=click.IntRange(1))
@WAIT
@TIMEOUT
@FORMAT
@asks_server
def rollback(client: "Client", form: str, number: int, wait: bool, timeout: float | None) -> int:
    """Take a whole job back, with what it has finished: each partition to the replicas it had before.

    A rollback is a job too, within the same limits. Partitions that a later job took over are skipped, and named.
    """
    answer = client.post(f"/v1/jobs/{number}/rollback")
    if form == JSON:
        say(as_json(answer))
    else:
        job = answer["job"]
        say(
            f"Nothing of job {number} to take back." if job is None else f"Job {job} takes job {number} back."
        )
        for row in answer["skipped"]:
            say(f"skipped: {row['topic']}-{row['partition']}: {row['reason']}", err=True)
    code = 1 if answer["skipped"] else 0
    if not wait or answer["job"] is None:
        return code

    from reassignd.commands.follow import follow

    return max(code, follow(client, answer["job"], timeout))
