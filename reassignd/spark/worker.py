"""Plans on Spark for a running server: `python -m reassignd.spark.worker URL`, lines in and out (`planner.handover`).

A process of its own, since a JVM must not be able to take the server down or to slow it. It gives way to
everything else on the machine, and ends, with its JVM, when the server has gone.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import TextIO

from common.plan_errors import PlanError
from planner.handover import answer, failure, read_request
from planner.schedule import Scheduler
from planner.spark import CONNECT, running, schedule_of

NICENESS = 10

Spark = Callable[[str], AbstractContextManager[Scheduler]]


def worker(url: str) -> list[str]:
    """The command that starts one."""
    return [sys.executable, "-m", "reassignd.spark.worker", url]


@contextmanager
def spark_at(url: str) -> Iterator[Scheduler]:
    """A session at this master, or Spark Connect server."""
    with running(remote=url) if url.startswith(CONNECT) else running(master=url) as session:
        yield schedule_of(session)


def work(url: str, lines: TextIO, answers: TextIO, spark: Spark = spark_at) -> None:
    """Take one request and answer it."""
    try:
        request = read_request(lines)
        with spark(url) as scheduler:
            answers.writelines(answer(request, scheduler))
    except (PlanError, ModuleNotFoundError) as error:
        answers.write(failure(str(error)))


def end_with(pipe: int) -> None:
    """Wait until the other end of the pipe is closed, and be gone."""
    closed = select.poll()
    closed.register(pipe, 0)
    closed.poll()
    os.killpg(0, signal.SIGKILL)


def main(arguments: Sequence[str]) -> int:
    """Work for the process at the other end of stdin and stdout, in a process group of our own."""
    [url] = arguments
    os.nice(NICENESS)
    Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        # What the JVM prints goes where warnings go.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        work(url, sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
