"""Wait for a job: show its progress, and reconnect when the server restarts."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from common.backoff import RETRY_LATER_SECONDS
from common.rates import in_rate
from common.wording import counted, printable
from reassignd.client import Client
from reassignd.commands.output import DONE, copied, duration, echo, moved_by, states_of
from reassignd.commands.table import BAR_WIDTH, Row
from reassignd.config.errors import UnreachableError

POLL_SECONDS = 0.5
LINE_SECONDS = 5.0
"""Minimum interval of progress lines when stderr is not a terminal."""

MIN_ENDED_FOR_ESTIMATE = 3
"""Partitions that must have ended before the time left is estimated from their rate."""


TIMED_OUT = 3
"""Exit code."""


class Sample(NamedTuple):
    """Number of partitions whose part in the job had ended at a time."""

    seconds: float
    ended: int


class Display(Protocol):
    """Shows the progress of a job."""

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
    """Wait until the job has ended; return exit code 0 if every partition reached its target, else 1.

    Return TIMED_OUT if the job has not ended within `timeout` seconds, or the server does not respond then.
    """
    try:
        with _display() as display:
            detail = _until_ended(client, number, timeout, display, now, sleep)
    except KeyboardInterrupt:
        echo(f"Job {number} continues; `reassignd job {number}` shows it.", err=True)
        return 1
    except UnreachableError as error:
        echo(f"Whether job {number} is complete is not known: {error}", err=True)
        return TIMED_OUT
    job = detail["job"]
    if job["state"] != "ended":
        echo(f"Job {number} is not complete: {_text(detail, None)}", err=True)
        return TIMED_OUT
    return _print_ending(detail)


def _until_ended(
    client: Client,
    number: int,
    timeout: float | None,
    display: Display,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> Row:
    deadline = None if timeout is None else now() + timeout
    first: Sample | None = None
    while True:
        detail = _poll(client, number, display, lambda: deadline is not None and now() >= deadline, sleep)
        job = detail["job"]
        sample = Sample(now(), job["total"] - _left(job))
        first = first or sample
        display.show(job, _text(detail, _seconds_left(first, sample, job)))
        if job["state"] == "ended" or (deadline is not None and now() >= deadline):
            return detail
        sleep(POLL_SECONDS)


def _poll(
    client: Client,
    number: int,
    display: Display,
    expired: Callable[[], bool],
    sleep: Callable[[float], None],
) -> Row:
    """Return the job as soon as the server responds. Raises UnreachableError after the deadline."""
    unreachable = False
    while True:
        try:
            detail: Row = client.get(f"/v1/jobs/{number}", limit=0)
        except UnreachableError as error:
            if expired():
                raise
            if not unreachable:
                display.note(f"{error}; retrying until the server responds")
            unreachable = True
            sleep(RETRY_LATER_SECONDS)
        else:
            if unreachable:
                display.note("the server responds again")
            return detail


def _seconds_left(first: Sample, sample: Sample, job: Row) -> float | None:
    """Estimate the seconds left: from bytes, else from the partitions done since the first sample.

    The result is None if they are unknown.
    """
    if job["copied"] is not None:
        left: int | None = job["copied"]["seconds_left"]
        return left
    ended = sample.ended - first.ended
    if ended < MIN_ENDED_FOR_ESTIMATE or not job["moving"]:
        return None
    return (sample.seconds - first.seconds) / ended * _left(job)


def _left(job: Row) -> int:
    """Return the number of partitions whose part in the job has not ended."""
    left: int = job["moving"] + job["waiting"] + job["queued"]
    return left


def _text(detail: Row, left: float | None) -> str:
    job = detail["job"]
    parts = [f"{times:,} {how}" for how, times in job["endings"].items() if how != DONE]
    parts += [each for each in states_of(job) if not each.startswith("0 ")]
    if job["copied"] is not None:
        rate = job["copied"]["rate"]
        parts.append(copied(job["copied"]) + ("" if rate is None else f" copied at {in_rate(rate)}"))
    if detail["reasons"]:
        parts.append(printable(str(detail["reasons"][0]["reason"])))
    if left is not None and job["state"] != "ended":
        parts.append(f"{duration(left)} left")
    return ", ".join(parts)


def _print_ending(detail: Row) -> int:
    job, endings = detail["job"], dict(detail["job"]["endings"])
    took = duration((job["ended_ms"] - job["created_ms"]) / 1000)
    good = endings.pop(DONE, 0)
    if not endings:
        echo(f"Job {job['id']} is done: {counted(good, moved_by(job))} in {took}.", err=True)
        return 0
    others = ", ".join(f"{times:,} {ending}" for ending, times in endings.items())
    missed = f"Job {job['id']} has ended, but not every {moved_by(job)} reached its target"
    echo(f"{missed}: {good:,} done, {others}.", err=True)
    return 1


class _LineDisplay:
    """Prints a line when the progress has changed."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: tuple[float, str] | None = None

    def show(self, job: Row, text: str) -> None:
        line = f"job {job['id']}: {job['done']:,} of {job['total']:,} done" + (f", {text}" if text else "")
        due = self._last is None or self._now() - self._last[0] >= LINE_SECONDS
        if due and (self._last is None or line != self._last[1]):
            self._last = self._now(), line
            self.note(line)

    def note(self, text: str) -> None:
        echo(text, err=True)


@contextmanager
def _display() -> Iterator[Display]:
    if not sys.stderr.isatty():
        yield _LineDisplay()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True)
    # Only the text gives way on a narrow terminal; the bar and the counts stay.
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    layout = (
        TextColumn("job {task.description}", table_column=Column(no_wrap=True)),
        BarColumn(BAR_WIDTH),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[text]}", markup=False, table_column=rest),
    )
    with Progress(*layout, console=console, expand=True) as progress:
        task = progress.add_task("", total=None, text="")

        class Bar:
            def show(self, job: Row, text: str) -> None:
                # Partitions that ended in another way are not left to do.
                ended = sum(job["endings"].values())
                progress.update(
                    task, description=str(job["id"]), completed=ended, total=job["total"], text=text
                )

            def note(self, text: str) -> None:
                console.print(printable(text), markup=False, highlight=False)

        yield Bar()
