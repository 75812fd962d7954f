"""Text output: aligned tables, times, and the rows of jobs and partitions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from planner.report.units import in_bytes
from reassignd.printable import printable

Row = dict[str, Any]

COPY_COLUMNS = ("copied", "rate", "left")
BAR_WIDTH = 20
"""Width of a progress bar in characters."""


def columns(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table; columns of numbers are aligned right."""
    table = [[printable(str(cell)) for cell in row] for row in rows]
    numeric = [
        bool(table) and all(row[i].replace(",", "").isdecimal() for row in table) for i in range(len(head))
    ]
    widths = [max(len(row[i]) for row in [head, *table]) for i in range(len(head))]
    for row in [[title.upper() for title in head], *table]:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        yield "  ".join(cells).rstrip()


def job_lines(jobs: Sequence[Row]) -> Iterator[str]:
    """Yield a table of jobs."""
    head = ("job", "kind", "state", "progress", "moving", "waiting", "queued", "created", "by")
    if not any(job["copied"] for job in jobs):
        yield from columns(head, (_job_cells(job) for job in jobs))
        return
    rows = ((*cells[:4], *_copy_cells(job["copied"]), *cells[4:]) for job, cells in _jobs_with_cells(jobs))
    yield from columns((*head[:4], *COPY_COLUMNS, *head[4:]), rows)


def broker_lines(incoming: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the brokers that data is copied to."""
    yield from columns(("to broker", *COPY_COLUMNS), ((row["broker"], *_copy_cells(row)) for row in incoming))


def copied(progress: Row) -> str:
    """Return `20 MiB of 70 MiB`."""
    return f"{in_bytes(progress['bytes'])} of {in_bytes(progress['total'])}"


def part_lines(parts: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the partitions of a job."""
    head = ("partition", "state", "replicas", "target", "note")
    yield from columns(
        head,
        (
            (
                f"{part['topic']}-{part['partition']}",
                part["state"],
                listed(part["replicas"]),
                listed(part["target"]),
                part["reason"] or _step(part),
            )
            for part in parts
        ),
    )


def reason_lines(reasons: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each reason, with the number of partitions."""
    return (f"  {row['partitions']:>7,}  {printable(row['reason'])}" for row in reasons)


def refused_lines(refused: Sequence[Row], most: int = 20) -> Iterator[str]:
    """Yield a line for each rejected partition, at most `most` of them."""
    for row in refused[:most]:
        yield f"refused: {row['topic']}-{row['partition']}: {printable(row['message'])}"
    if len(refused) > most:
        yield f"refused: {len(refused) - most:,} more"


def counted(number: int, noun: str) -> str:
    """Return `1 partition` or `2,000 partitions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(replicas: Iterable[int]) -> str:
    """Return broker ids in the format of a plan: `[1,2,3]`."""
    return "[" + ",".join(map(str, replicas)) + "]"


def bar(done: int, total: int) -> str:
    """Return a progress bar of `#` and `.`."""
    filled = BAR_WIDTH * done // total if total else BAR_WIDTH
    return "#" * filled + "." * (BAR_WIDTH - filled)


def duration(seconds: float) -> str:
    """Return `42 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def when(milliseconds: int) -> str:
    """Return a timestamp in local time, with the date unless it is today."""
    then, now = datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone(), datetime.now(UTC).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M:%S}"


def echo(text: str, *, err: bool = False) -> None:
    """Print the text without control characters, which names from the cluster can contain."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err)


def _job_cells(job: Row) -> tuple[object, ...]:
    kind = f"rollback of {job['undoes']}" if job["undoes"] else job["kind"]
    ranked = job["priority"] and job["state"] != "ended"
    state = ", ".join(job["endings"]) or job["state"]
    state = f"{state}, priority {job['priority']}" if ranked else state
    done, total = job["done"], job["total"]
    who = job["principal"].removeprefix("User:") + (f" ({job['client_id']})" if job["client_id"] else "")
    progress = f"{bar(done, total)} {done:,}/{total:,}"
    return (
        job["id"],
        kind,
        state,
        progress,
        job["moving"],
        job["waiting"],
        job["queued"],
        when(job["created_ms"]),
        who,
    )


def _jobs_with_cells(jobs: Iterable[Row]) -> Iterator[tuple[Row, tuple[object, ...]]]:
    return ((job, _job_cells(job)) for job in jobs)


def _copy_cells(progress: Row | None) -> tuple[str, str, str]:
    if progress is None:
        return ("", "", "")
    rate, left = progress["rate"], progress["seconds_left"]
    return (
        copied(progress),
        "" if rate is None else f"{in_bytes(rate)}/s",
        "" if left is None else duration(left),
    )


def _step(part: Row) -> str:
    return "" if part["step"] is None or part["step"] == part["target"] else f"step to {listed(part['step'])}"
