"""The worker process that plans with Spark for a running server.

It is started by `python -m reassignd.workers.spark_worker URL`.

It reads and writes lines (`planner.handover`). A separate process keeps failures and the load of the JVM away
from the server. It has a low scheduling priority, and ends with its JVM when the server ends.
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
from planner.model.step_table import Scheduler
from planner.spark import CONNECT, running, schedule_of

NICENESS = 10

Spark = Callable[[str], AbstractContextManager[Scheduler]]


def worker(url: str) -> list[str]:
    """Return the command line of a worker."""
    return [sys.executable, "-m", "reassignd.workers.spark_worker", url]


@contextmanager
def spark_at(url: str) -> Iterator[Scheduler]:
    """Open a session at the Spark master or Spark Connect server."""
    with running(remote=url) if url.startswith(CONNECT) else running(master=url) as session:
        yield schedule_of(session)


def work(url: str, lines: TextIO, answers: TextIO, spark: Spark = spark_at) -> None:
    """Open a session and answer requests with it until the input ends, or one fails.

    The session may be unusable.
    """
    try:
        with spark(url) as scheduler:
            while (request := read_request(lines)) is not None:
                answers.writelines(answer(request, scheduler))
                answers.flush()
    except (PlanError, ModuleNotFoundError) as error:
        answers.write(failure(str(error)))


def end_with(pipe: int) -> None:
    """Wait until the other end of the pipe is closed, then kill the process group."""
    closed = select.poll()
    closed.register(pipe, 0)
    closed.poll()
    os.killpg(0, signal.SIGKILL)


def main(arguments: Sequence[str]) -> int:
    """Serve the requests of the parent process. The process group must not contain the parent."""
    [url] = arguments
    os.nice(NICENESS)
    Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        # Output of the JVM on stdout would corrupt the answer: redirect it to stderr.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        work(url, sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
