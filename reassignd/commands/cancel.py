"""The commands `cancel` and `rollback` (KIP-236)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from common.rates import in_rate
from common.units import in_bytes
from common.wording import as_json, counted, printable
from reassignd.commands.completion import job_numbers, topic_names
from reassignd.commands.confirm import YES, asks, confirm
from reassignd.commands.help import examples
from reassignd.commands.options import FORMAT, JSON, TIMEOUT, VERBOSE, WAIT, Integer, with_client
from reassignd.commands.output import echo, left_out_lines, listed, waiting_lines

if TYPE_CHECKING:
    from reassignd.client import Client


MAX_PRINTED = 20
"""Cancelled partitions that are printed one by one."""


def _parse_partitions(_: click.Context, __: click.Parameter, names: Sequence[str]) -> list[dict[str, Any]]:
    keys = []
    for name in names:
        topic, _dash, number = name.rpartition("-")
        if not topic or not (number.isascii() and number.isdecimal()):
            raise click.BadParameter(f"'{name}', expected TOPIC-N")
        keys.append({"topic": topic, "partition": int(number)})
    return keys


def _cancelled_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the replicas that each partition gets, and the throttles that stay (KIP-236)."""
    for row in answer["partitions"][:MAX_PRINTED]:
        yield f"{row['topic']}-{row['partition']} goes to {listed(row['replicas'])}"
    if answer["cancelled"] > MAX_PRINTED:
        yield f"and {answer['cancelled'] - MAX_PRINTED:,} more"
    rate, others = answer["throttle"]["bytes_per_second"], answer["throttle"]["set_by_others"]
    if rate is not None:
        yield f"The throttle of {in_rate(rate)} stays until the last step in flight has ended."
    if others is None:
        yield "A throttle set by kafka-reassign-partitions stays until its --verify."
    elif others:
        brokers = ", ".join(map(str, others))
        yield (
            f"{counted(len(others), 'broker')} ({brokers}) keep a throttle that was not set by reassignd,"
            " until kafka-reassign-partitions --verify."
        )


@click.command(
    epilog=examples(
        "reassignd cancel --job 3",
        "reassignd cancel --partition clicks-22 --partition clicks-23",
        "reassignd cancel --all",
    )
)
@click.option("--all", "everything", is_flag=True, help="All ongoing reassignments.")
@click.option(
    "--topic", metavar="TOPIC", shell_complete=topic_names, help="Ongoing reassignments of this topic."
)
@click.option(
    "--job",
    metavar="JOB",
    type=Integer(1),
    shell_complete=job_numbers,
    help="Ongoing reassignments of this job.",
)
@click.option(
    "--partition",
    "partitions",
    metavar="TOPIC-N",
    multiple=True,
    callback=_parse_partitions,
    help="One partition. Can be given more than once.",
)
@YES
@VERBOSE
@FORMAT
@with_client
def cancel(
    client: "Client",
    output_format: str,
    everything: bool,
    topic: str | None,
    job: int | None,
    partitions: list[dict[str, Any]],
    yes: bool,
    verbose: bool,
) -> int:
    """Cancel ongoing reassignments.

    The partitions get their original replicas back, or stop where they are (config reassignment.cancel.mode).
    Finished reassignments of a job are not affected; use `reassignd rollback` for these.
    """
    wanted = {"all": everything or None, "topic": topic, "job": job, "partitions": partitions or None}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) != 1:
        raise click.UsageError("give exactly one of --all, --topic, --job and --partition")
    confirm(f"Cancel {_what(given)}?", yes=yes)
    answer = client.post("/v1/reassignments/cancel", given)
    if output_format == JSON:
        echo(as_json(answer))
    elif answer["cancelled"] or not answer["refused"]:
        count, moves = answer["cancelled"], answer.get("moves", 0)  # an older server does not say
        if moves:
            echo(_cancelled_moves(moves))
        if count or not moves:
            echo(f"{counted(count, 'partition')} cancelled." if count else "Nothing to cancel.")
        for line in _cancelled_lines(answer) if count else ():
            echo(line)
    if output_format != JSON:
        for line in left_out_lines("refused", answer["refused"], "message", verbose=verbose):
            echo(line, err=True)
    return 1 if answer["refused"] else 0


def _what(given: dict[str, Any]) -> str:
    """Return what is cancelled, for a question."""
    match given:
        case {"topic": topic}:
            return f"what moves of topic {printable(topic)}"
        case {"job": job}:
            return f"what job {job} still moves"
        case {"partitions": partitions}:
            return f"the reassignments of {counted(len(partitions), 'partition')}"
    return "all ongoing reassignments, of all jobs"


def _cancelled_moves(number: int) -> str:
    return f"{counted(number, 'move')} between log directories cancelled: what is under way returns."


def _preview_lines(number: int, preview: dict[str, Any]) -> Iterator[str]:
    """Yield what a rollback of the job would do."""
    count = counted(preview["partitions"], "partition")
    copies = in_bytes(preview["bytes"])
    if undone := preview["undoes"]:
        yield f"Job {number} has rolled back job {undone}."
        yield f"Its rollback moves {count} to the targets of job {undone} again and copies {copies}."
    else:
        yield f"A rollback of job {number} moves {count} back and copies {copies}."
    if preview["unmoved"]:
        yield f"{counted(preview['unmoved'], 'partition')} not moved yet would only leave the job."
    if preview["withdrawn"]:
        yield f"It withdraws {counted(preview['withdrawn'], 'queued partition')}."
    if preview["unchanged"]:
        yield f"{counted(preview['unchanged'], 'partition')} would not change."
    yield from waiting_lines(preview["waiting_partitions"], preview["waiting"])
    for row in preview["examples"]:
        yield f"skipped: {row['topic']}-{row['partition']}: {row['reason']}"
    if preview["skipped"] > len(preview["examples"]):
        yield f"skipped: {preview['skipped'] - len(preview['examples']):,} more"


def _print_rollback(number: int, answer: dict[str, Any], output_format: str, *, verbose: bool) -> None:
    if output_format == JSON:
        echo(as_json(answer))
        return
    if cancelled := answer.get("cancelled", 0):  # an older server does not say
        echo(_cancelled_moves(cancelled))
    if answer["job"] is not None:
        echo(f"Job {answer['job']} rolls back job {number}.")
    elif not cancelled:
        echo(f"Job {number} has nothing to roll back.")
    for line in left_out_lines("skipped", answer["skipped"], "reason", verbose=verbose):
        echo(line, err=True)


@click.command(epilog=examples("reassignd rollback 3 --dry-run", "reassignd rollback 3 --wait"))
@click.argument("number", metavar="JOB", type=Integer(1), shell_complete=job_numbers)
@click.option("--dry-run", is_flag=True, help="Print what the rollback would do; change nothing.")
@YES
@WAIT
@TIMEOUT
@VERBOSE
@FORMAT
@with_client
def rollback(
    client: "Client",
    output_format: str,
    number: int,
    dry_run: bool,
    yes: bool,
    wait: bool,
    timeout: float | None,
    verbose: bool,
) -> int:
    """Move all partitions of a job back to their original replicas, finished ones too.

    The rollback is a job itself and runs under the same limits. Partitions that a later job took over are
    skipped and printed.
    """
    if dry_run:
        preview = client.get(f"/v1/jobs/{number}/rollback")
        echo(as_json(preview) if output_format == JSON else "\n".join(_preview_lines(number, preview)))
        return 0
    if asks(yes=yes):
        echo("\n".join(_preview_lines(number, client.get(f"/v1/jobs/{number}/rollback"))), err=True)
    confirm(f"Roll back job {number}?", yes=yes)
    answer = client.post(f"/v1/jobs/{number}/rollback")
    _print_rollback(number, answer, output_format, verbose=verbose)
    code = 1 if answer["skipped"] else 0
    if not wait or answer["job"] is None:
        return code

    from reassignd.commands.follow import follow

    return max(code, follow(client, answer["job"], timeout))
