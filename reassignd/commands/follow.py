"""Waiting for a job: progress, what is left and why, also while the server is started again."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from planner.report.units import in_bytes
from reassignd.client import Client
from reassignd.commands.text import copied, counted, duration, say
from reassignd.errors import UnreachableError
from reassignd.printable import printable

Row = dict[str, Any]

POLL_SECONDS = 0.5
RETRY_SECONDS = 1.0
PLAIN_SECONDS = 5.0
"""Between two lines where there is no terminal."""

ENOUGH = 3
"""Partitions that must be done before their pace says anything."""

DONE = "done"


class Seen(NamedTuple):
    """When, and how many partitions were done."""

    seconds: float
    done: int


class Display(Protocol):
    """Shows how far the job is."""

    def show(self, job: Row, text: str) -> None: ...

    def note(self, text: str) -> None: ...


def follow(
    client: Client,
    number: int,
    timeout: float | None = None,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Wait until the job has ended; the exit code: 0 when every partition is where the job wants it."""
    try:
        with _display() as display:
            detail = _until_ended(client, number, timeout, display, now, sleep)
    except KeyboardInterrupt:
        say(f"Job {number} goes on; `reassignd job {number}` shows it.", err=True)
        return 1
    job = detail["job"]
    if job["state"] != "ended":
        say(f"Job {number} is not complete: {_text(detail, None)}", err=True)
        return 1
    return _verdict(detail)


def _until_ended(
    client: Client,
    number: int,
    timeout: float | None,
    display: Display,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> Row:
    deadline = None if timeout is None else now() + timeout
    began: Seen | None = None
    while True:
        detail = _asked(client, number, display, lambda: deadline is not None and now() >= deadline, sleep)
        job = detail["job"]
        seen = Seen(now(), job["done"])
        began = began or seen
        display.show(job, _text(detail, _left(began, seen, job)))
        if job["state"] == "ended" or (deadline is not None and now() >= deadline):
            return detail
        sleep(POLL_SECONDS)


def _asked(
    client: Client,
    number: int,
    display: Display,
    late: Callable[[], bool],
    sleep: Callable[[float], None],
) -> Row:
    """The job, as soon as the server answers. Raises UnreachableError when it is late."""
    away = False
    while True:
        try:
            detail: Row = client.get(f"/v1/jobs/{number}", limit=0)
        except UnreachableError as error:
            if late():
                raise
            if not away:
                display.note(f"{error}; trying again until it answers")
            away = True
            sleep(RETRY_SECONDS)
        else:
            if away:
                display.note("the server is back")
            return detail


def _left(began: Seen, seen: Seen, job: Row) -> float | None:
    """Seconds that the rest will take: by bytes, else as partitions were done since we look; None where neither tells."""
    if job["copied"] is not None:
        left: int | None = job["copied"]["seconds_left"]
        return left
    done = seen.done - began.done
    return None if done < ENOUGH else (seen.seconds - began.seconds) / done * (job["total"] - seen.done)


def _text(detail: Row, left: float | None) -> str:
    job = detail["job"]
    parts = [f"{job[name]:,} {name}" for name in ("moving", "waiting", "queued") if job[name]]
    if job["copied"] is not None:
        rate = job["copied"]["rate"]
        parts.append(copied(job["copied"]) + ("" if rate is None else f" copied at {in_bytes(rate)}/s"))
    if detail["reasons"]:
        parts.append(printable(str(detail["reasons"][0]["reason"])))
    if left is not None and job["state"] != "ended":
        parts.append(f"{duration(left)} left")
    return ", ".join(parts)


def _verdict(detail: Row) -> int:
    job, endings = detail["job"], dict(detail["endings"])
    took = duration((job["ended_ms"] - job["created_ms"]) / 1000)
    good = endings.pop(DONE, 0)
    if not endings:
        say(f"Job {job['id']} is done: {counted(good, 'partition')} in {took}.", err=True)
        return 0
    others = ", ".join(f"{times:,} {ending}" for ending, times in endings.items())
    say(f"Job {job['id']} has ended, not as ordered: {good:,} done, {others}.", err=True)
    return 1


class _Plain:
    """Lines, when something has changed."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: tuple[float, str] | None = None

    def show(self, job: Row, text: str) -> None:
        line = f"job {job['id']}: {job['done']:,} of {job['total']:,} done" + (f", {text}" if text else "")
        due = self._last is None or self._now() - self._last[0] >= PLAIN_SECONDS
        if due and (self._last is None or line != self._last[1]):
            self._last = self._now(), line
            self.note(line)

    def note(self, text: str) -> None:
        say(text, err=True)


@contextmanager
def _display() -> Iterator[Display]:
    if not sys.stderr.isatty():
        yield _Plain()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    look = (
        TextColumn("job {task.description}"),
        BarColumn(30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    with Progress(*look, console=console) as progress:
        task = progress.add_task("", total=None, text="")

        class Bar:
            def show(self, job: Row, text: str) -> None:
                progress.update(
                    task, description=str(job["id"]), completed=job["done"], total=job["total"], text=text
                )

            def note(self, text: str) -> None:
                console.print(printable(text), markup=False, highlight=False)

        yield Bar()
