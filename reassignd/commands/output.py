"""Text output: aligned tables, times, and the rows of jobs and partitions."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from common.rates import in_rate
from common.units import in_bytes
from common.wording import as_json, counted, printable
from reassignd.commands.options import JSON
from reassignd.commands.table import Row, Safe, bar, filled, fitting, look

COPY_COLUMNS = ("copied", "rate", "left")
JOB_COLUMNS = (
    "job",
    "kind",
    "state",
    "progress",
    *COPY_COLUMNS,
    "moving",
    "stalled",
    "waiting",
    "queued",
    "created",
    "took",
    "by",
)
WIDE_JOB_COLUMNS = ("ended", "throttle")
MOVING_COLUMNS = ("moving", "stalled", "waiting", "queued")
"""Columns that are empty for jobs that have ended."""
SPARE_JOB_COLUMNS = ("by", "created", "took", "kind", "progress", "copied", "rate", "state")
"""Columns that are left out on a narrow terminal, in this order."""
SHORT = {"progress": "counts"}
"""Column -> the cell with its short form."""
DONE = "done"
"""The ending of partitions that have arrived at their target."""


def job_lines(jobs: Sequence[Row], width: int | None = None) -> Iterator[str]:
    """Yield a table of jobs. With a width, it has fewer columns if they do not fit."""
    rows = [_job_cells(job) for job in jobs]
    empty = set() if any(job["copied"] for job in jobs) else set(COPY_COLUMNS)
    if not any(job["stalled"] for job in jobs):
        empty.add("stalled")
    if jobs and all(job["state"] == "ended" for job in jobs):
        empty |= {*MOVING_COLUMNS, "rate", "left"}
    wide = WIDE_JOB_COLUMNS if look().wide else ()
    head = [name for name in (*JOB_COLUMNS, *wide) if name not in empty]
    yield from fitting(head, rows, width, SPARE_JOB_COLUMNS, SHORT)


def states_of(numbers: Row) -> Iterator[str]:
    """Yield `3 moving, 1 of them stalled`, `0 waiting` and `5 queued`, of a job or of all."""
    stalled = f", {numbers['stalled']:,} of them stalled" if numbers["stalled"] else ""
    yield f"{numbers['moving']:,} moving{stalled}"
    yield f"{numbers['waiting']:,} waiting"
    yield f"{numbers['queued']:,} queued"


def limit_of_job(limit: Row) -> str:
    """Return `P=20, 3 in use`; `R=1` for a limit that nothing uses up."""
    used = "" if limit["used"] is None else f", {limit['used']:,} in use"
    return f"{limit['name']}={limit['limit']:,}{used}"


def broker_lines(incoming: Sequence[Row], width: int | None = None) -> Iterator[str]:
    """Yield a table of the brokers that data is copied to."""
    rows = [{"to broker": row["broker"], **_copy_cells(row)} for row in incoming]
    yield from fitting(["to broker", *COPY_COLUMNS], rows, width, ["copied"])


def copied(progress: Row) -> str:
    """Return `20 MiB of 70 MiB`."""
    return f"{in_bytes(progress['bytes'])} of {in_bytes(progress['total'])}"


def moved_by(job: Row) -> str:
    """Return what a job moves: partitions, or replicas between the log directories of brokers."""
    return "replica" if job["kind"] == "disks" else "partition"


def part_lines(parts: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the partitions of a job, or of its replicas that change directories."""
    if any(part.get("move") for part in parts):
        yield from _move_lines(parts)
        return
    head = ("partition", "state", "replicas", "target", "note")
    rows = [
        {
            "partition": f"{part['topic']}-{part['partition']}",
            "state": part["state"],
            "replicas": listed(part["replicas"]),
            "target": listed(part["target"]),
            "note": part["reason"] or _step(part),
        }
        for part in parts
    ]
    # Reasons are in a table of their own, too.
    yield from filled(head, rows, ("note", "replicas"), ())


def _move_lines(parts: Sequence[Row]) -> Iterator[str]:
    head = ("partition", "broker", "state", "from", "to", "note")
    rows = [
        {
            "partition": f"{part['topic']}-{part['partition']}",
            "broker": part["move"]["broker"],
            "state": part["state"],
            "from": part["move"]["source"],
            "to": part["move"]["target"],
            "note": part["reason"] or _share(part),
        }
        for part in parts
    ]
    yield from filled(head, rows, ("note", "from"), ())


def _share(part: Row) -> str:
    moving = part["state"] == "moving" and part["bytes"]
    return f"{in_bytes(part['copied'])} of {in_bytes(part['bytes'])}" if moving else ""


def reason_lines(reasons: Sequence[Row], others: int = 0) -> Iterator[str]:
    """Yield a line for each reason, with the number of partitions; `others` have further reasons."""
    for row in reasons:
        yield f"  {row['partitions']:>7,}  {printable(row['reason'])}"
    if others:
        yield f"  {others:>7,}  other reasons"


def waiting_lines(count: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line about partitions that cannot get to their targets now, if there are some.

    `rows` are the first of them.
    """
    if count:
        first = rows[0]
        name = f"{first['topic']}-{first['partition']}"
        yield f"waits: {counted(count, 'partition')}, the first is {name}: {first['reason']}"


def left_out_lines(what: str, rows: Sequence[Row], reason: str, *, verbose: bool) -> Iterator[str]:
    """Yield one line about partitions that were refused or skipped; with `verbose`, a line for each of them.

    `what` is `refused` or `skipped`, and `reason` the key of the text that says why.
    """
    shown = rows if verbose else rows[:1]
    for row in shown:
        more = len(rows) - len(shown)
        rest = f", and {more:,} more: --verbose lists them" if more else ""
        yield f"{what}: {row['topic']}-{row['partition']}: {printable(row[reason])}{rest}"


def listed(replicas: Iterable[int]) -> str:
    """Return broker ids in the format of a plan: `[1,2,3]`."""
    return "[" + ",".join(map(str, replicas)) + "]"


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
    click.echo(text if isinstance(text, Safe) else "\n".join(map(printable, text.split("\n"))), err=err)


def echo_answer(output_format: str, answer: object, text: str) -> None:
    """Print the answer of the API in the format JSON, and the text in others."""
    echo(as_json(answer) if output_format == JSON else text)


def endings(job: Row) -> str:
    """Return how the partitions ended: `done`, or `480 done, 20 rolled back`.

    If one job has taken all of it back, the text names that job.
    """
    ended = job["endings"]
    if job.get("rolled_back_by") and job["outcome"] == "rolled back":
        return f"rolled back by job {job['rolled_back_by']}"
    return next(iter(ended)) if len(ended) == 1 else ", ".join(f"{n:,} {how}" for how, n in ended.items())


def by(row: Row) -> str:
    """Return the principal of a job or an entry, and its client id.

    The type `User` is left out, unless the name would then look like another principal: `User:Local:root`.
    """
    principal: str = row["principal"]
    name = principal.removeprefix("User:")
    who = principal if ":" in name or name.startswith("unknown") else name
    # Browsers name a dozen products; the page says the same.
    client = "browser" if (row["client_id"] or "").startswith("Mozilla/") else row["client_id"]
    return f"{who} ({client})" if client else who


def _job_cells(job: Row) -> Row:
    counts = f"{job['done']:,}/{job['total']:,}"
    return {
        "job": job["id"],
        "kind": f"rollback of {job['undoes']}" if job["undoes"] else job["kind"],
        "state": _state(job),
        "progress": bar(job["done"], job["total"]) + counts,
        "counts": counts,
        **_copy_cells(job["copied"]),
        **{name: "" if job["state"] == "ended" else f"{job[name]:,}" for name in MOVING_COLUMNS},
        "created": when(job["created_ms"]),
        "took": duration(max(0, (job["ended_ms"] or time.time() * 1000) - job["created_ms"]) / 1000),
        "ended": when(job["ended_ms"]) if job["ended_ms"] else "",
        "throttle": in_rate(job["throttle"]) if job["throttle"] else "",
        "by": by(job),
    }


def _state(job: Row) -> str:
    if job["state"] == "ended":
        return endings(job)
    parts = ["held" if job.get("held") else job["state"]]
    if job["priority"]:
        parts.append(f"priority {job['priority']}")
    parts += [f"{limit['name']}={limit['limit']}" for limit in job["limits"]]
    if gone := job["endings"].get("topic deleted"):
        # Why the job has less to copy than before.
        parts.append(f"{gone:,} of deleted topics")
    return ", ".join(parts)


def _copy_cells(progress: Row | None) -> Row:
    if progress is None:
        return dict.fromkeys(COPY_COLUMNS, "")
    rate, left = progress["rate"], progress["seconds_left"]
    return {
        "copied": copied(progress),
        "rate": "" if rate is None else in_rate(rate),
        "left": "" if left is None else duration(left),
    }


def _step(part: Row) -> str:
    return "" if part["step"] is None or part["step"] == part["target"] else f"step to {listed(part['step'])}"
