"""What people read: aligned columns, times, and sentences about jobs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from planner.report.units import in_bytes
from reassignd.printable import printable

Row = dict[str, Any]

PACE = ("copied", "rate", "left")
BAR = 20
"""Characters of a bar that shows progress."""


def columns(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lines of a table; numbers stand to the right."""
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
    """A table of jobs."""
    head = ("job", "kind", "state", "progress", "moving", "waiting", "queued", "created", "by")
    if not any(job["copied"] for job in jobs):
        yield from columns(head, (_job_cells(job) for job in jobs))
        return
    rows = ((*cells[:4], *_pace_cells(job["copied"]), *cells[4:]) for job, cells in _with_cells(jobs))
    yield from columns((*head[:4], *PACE, *head[4:]), rows)


def broker_lines(incoming: Sequence[Row]) -> Iterator[str]:
    """A table of brokers that data is copied to."""
    yield from columns(("to broker", *PACE), ((row["broker"], *_pace_cells(row)) for row in incoming))


def copied(pace: Row) -> str:
    """How much of how much."""
    return f"{in_bytes(pace['bytes'])} of {in_bytes(pace['total'])}"


def part_lines(parts: Sequence[Row]) -> Iterator[str]:
    """A table of a job's partitions."""
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
    """How many partitions do not move, and why."""
    return (f"  {each['partitions']:>7,}  {printable(each['reason'])}" for each in reasons)


def refused_lines(refused: Sequence[Row], most: int = 20) -> Iterator[str]:
    """One line for each partition that was refused."""
    for row in refused[:most]:
        yield f"refused: {row['topic']}-{row['partition']}: {printable(row['message'])}"
    if len(refused) > most:
        yield f"refused: {len(refused) - most:,} more"


def counted(number: int, noun: str) -> str:
    """`1 partition`, `2,000 partitions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(replicas: Iterable[int]) -> str:
    """Broker ids as a plan has them."""
    return "[" + ",".join(map(str, replicas)) + "]"


def bar(done: int, total: int) -> str:
    """How far it is, drawn."""
    filled = BAR * done // total if total else BAR
    return "#" * filled + "." * (BAR - filled)


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def when(milliseconds: int) -> str:
    """Local time; the day too when it is not today."""
    then, now = datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone(), datetime.now(UTC).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M:%S}"


def say(text: str, *, err: bool = False) -> None:
    """Print the lines; what others have put into them cannot steer the terminal."""
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


def _with_cells(jobs: Iterable[Row]) -> Iterator[tuple[Row, tuple[object, ...]]]:
    return ((job, _job_cells(job)) for job in jobs)


def _pace_cells(pace: Row | None) -> tuple[str, str, str]:
    if pace is None:
        return ("", "", "")
    rate, left = pace["rate"], pace["seconds_left"]
    return copied(pace), "" if rate is None else f"{in_bytes(rate)}/s", "" if left is None else duration(left)


def _step(part: Row) -> str:
    return "" if part["step"] is None or part["step"] == part["target"] else f"step to {listed(part['step'])}"
