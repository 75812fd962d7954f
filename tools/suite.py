"""Run the parts of a suite of tests side by side: `python -m tools.suite unit|static|test|all [PART ...]`.

A part is a command. It starts when the parts that it needs have passed and a lane is free. There are as many
lanes as cores; `--beside N` gives N more to parts that mostly wait. One line says how each part ended, how
long it took, and how much processor time it and the processes that it waited for have used. The output of a
part is in `build/suite/PART.log`; that of a part that failed is printed, too. A part that runs too long is
interrupted, and has failed. The exit code is 1 if a part failed. Ctrl-C ends all parts, and prints the last
lines of each.
"""

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.parts import SUITES, Part
from tools.ports import SHARE

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "suite"
POLL_SECONDS = 0.1
GRACE_SECONDS = 20
"""Time for tests to end the processes that they started."""
LIMIT_SECONDS = 35 * 60
"""Longest time of a part. None takes two thirds of it, and the other parts still end within the time that
continuous integration gives all of them."""
LAST_LINES = 60
"""Lines printed of each part that is interrupted."""

COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
SKIPPED = re.compile(r"^SKIPPED \[\d+\] [^ ]+ (.*)$", re.MULTILINE)


class Running:
    """A part under way, in a session of its own."""

    def __init__(self, part: Part, lane: int, lanes: int, cores: Collection[int]) -> None:
        self.part = part
        self.lane = lane
        self.log = LOGS / f"{part.name}.log"
        self._started = time.monotonic()
        self._code: int | None = None
        self.cpu_seconds = 0.0
        """Processor time, of a part that has ended."""
        self.overdue = False
        """Whether it was interrupted because it took too long."""
        program, *arguments = shlex.split(part.command)
        beside = str(Path(sys.executable).parent)
        found = sys.executable if program == "python" else shutil.which(program, path=beside)
        with self.log.open("wb") as log, _on(cores):
            self._process = subprocess.Popen(
                [found or program, *arguments],
                cwd=ROOT,
                env={**os.environ, SHARE: f"{lane}/{lanes}", **part.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def output(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def ended(self) -> int | None:
        """The exit code, or None while the part runs."""
        if self._code is None:
            self._end_by(self._process.poll)
        return self._code

    def _end_by(self, end: Callable[[], int | None]) -> None:
        before = _cpu_seconds()
        self._code = end()
        self.cpu_seconds = _cpu_seconds() - before

    def keep_to(self, seconds: float) -> None:
        """Interrupt the part when it has run that long, and kill it some time later."""
        if self.seconds > seconds + GRACE_SECONDS:
            self.kill()
        elif self.seconds > seconds and not self.overdue:
            self.overdue = True
            self.interrupt()

    def interrupt(self) -> None:
        """Ask the processes of the part to end, as Ctrl-C does."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End what is left of the part."""
        self._signal(signal.SIGKILL)
        if self._code is None:
            self._end_by(self._process.wait)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


def _own_cores() -> list[int]:
    """Return the cores that this process may use; none where that cannot be told."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


@contextmanager
def _on(cores: Collection[int]) -> Iterator[None]:
    """Have the processes that are started in the `with` block, and theirs, use only these cores."""
    own = _own_cores()
    if not own or cores == own:
        yield
        return
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _cpu_seconds() -> float:
    """Return the processor time of all children that have ended and were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Suite:
    """The parts that wait, run, have passed and have failed."""

    def __init__(
        self, parts: Sequence[Part], lanes: int, beside: int = 0, limit: float = LIMIT_SECONDS
    ) -> None:
        self._waiting = list(parts)
        self._computing = lanes
        """How many parts that do not mostly wait run at a time."""
        self._lanes = lanes + beside
        self._limit = limit
        self.interrupted = False
        """Set by a signal: all parts are to end."""
        self._cores = _own_cores()
        self._free = [*range(self._lanes)]
        self._running: list[Running] = []
        self._passed: set[str] = set()
        self._failed: list[str] = []
        self._skipped: set[str] = set()
        self._counts = dict.fromkeys(("passed", "failed", "skipped"), 0)

    def run(self) -> bool:
        """Run all parts, until `interrupted` is set. Return whether all passed."""
        started = time.monotonic()
        while self._waiting or self._running:
            if self.interrupted:
                self._stop()
                return False
            self._start()
            for each in self._running:
                each.keep_to(self._limit)
            for each in [each for each in self._running if each.ended() is not None]:
                self._running.remove(each)
                self._free.append(each.lane)
                self._end(each)
            time.sleep(POLL_SECONDS)
        self._report(time.monotonic() - started)
        return not self._failed

    def _stop(self) -> None:
        """End the parts that run, politely at first. Print what ran and for how long, then its last lines."""
        running = ", ".join(f"{each.part.name} ({each.seconds:.0f} s)" for each in self._running)
        print(f"interrupted in {running or 'no part'}", flush=True)
        for each in self._running:
            each.interrupt()
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(each.ended() is None for each in self._running):
            time.sleep(POLL_SECONDS)
        for each in self._running:
            each.kill()
            lines = each.output.rstrip().splitlines()[-LAST_LINES:]
            print("\n".join([f"----- {each.part.name}: {each.part.command}", *lines, "-----"]), flush=True)

    def _start(self) -> None:
        names = {each.name for each in self._waiting} | {each.part.name for each in self._running}
        for part in list(self._waiting):
            if any(needed in self._failed for needed in part.needs):
                self._waiting.remove(part)
                self._failed.append(part.name)
                print(f"not run        {part.name}: it needs {', '.join(part.needs)}", flush=True)
            elif self._has_lane(part) and not names & {*part.needs}:
                self._waiting.remove(part)
                self._running.append(Running(part, self._free.pop(), self._lanes, self._cores_of(part)))

    def _has_lane(self, part: Part) -> bool:
        computing = sum(not each.part.waits for each in self._running)
        return bool(self._free) and (part.waits or computing < self._computing) and self._has_room(part)

    def _has_room(self, part: Part) -> bool:
        """Whether the part may run its brokers. The last parts share the cores, which would be idle else."""
        most = self._computing if all(each.real for each in self._open) else max(1, self._computing // 2)
        return not part.real or sum(each.part.real for each in self._running) < most

    @property
    def _open(self) -> list[Part]:
        """The parts that wait or run."""
        return [*self._waiting, *(each.part for each in self._running)]

    def _cores_of(self, part: Part) -> Collection[int]:
        """The cores of a part that is to start.

        As long as there are brokers, half of the cores are theirs alone: a broker that waits some seconds for
        a processor is fenced, and a client that does leaves its group.
        """
        shared = part.real or not any(each.real for each in self._open)
        return self._cores if shared else self._cores[len(self._cores) // 2 :]

    def _end(self, ended: Running) -> None:
        output, name = ended.output, ended.part.name
        counts = COUNT.findall(output.rstrip().rpartition("\n")[2])
        for number, what in counts:
            self._counts["failed" if what.startswith("error") else what] += int(number)
        said = "  " + ", ".join(f"{number} {what}" for number, what in counts) if counts else ""
        self._skipped |= {*SKIPPED.findall(output)}
        passed = ended.ended() == 0 and not ended.overdue
        if passed:
            self._passed.add(name)
        else:
            self._failed.append(name)
            print(f"----- {name}: {ended.part.command}\n{output.rstrip()}\n-----")
        if ended.overdue:
            ended.kill()  # what it had started
            print(f"{name} was interrupted: it ran longer than {self._limit:.0f} s")
        times = f"{ended.seconds:5.0f} s {ended.cpu_seconds:5.0f} CPU s"
        print(f"{'ok    ' if passed else 'FAILED'} {times}  {name}{said}", flush=True)

    def _report(self, seconds: float) -> None:
        for reason in sorted(self._skipped):
            print(f"skipped: {reason}")
        print(
            f"{len(self._passed)} parts passed in {seconds:.0f} s, {_cpu_seconds():.0f} CPU s"
            + "".join(f", {name} FAILED" for name in self._failed)
        )
        if any(self._counts.values()):
            print(", ".join(f"{count} {what}" for what, count in self._counts.items()))


def main() -> int:
    """Run a suite. Return 1 if a part failed, 130 if the run was interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.suite", description="Run the parts of a suite side by side."
    )
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("part", nargs="*", help="only these parts, without what they need")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="as many as cores by default")
    parser.add_argument(
        "--beside", type=int, default=0, help="further lanes, for parts that mostly wait; 0 by default"
    )
    arguments = parser.parse_intermixed_args()
    parts = SUITES[arguments.suite]
    if arguments.part:
        parts = [part._replace(needs=()) for part in parts if part.name in arguments.part]
    LOGS.mkdir(parents=True, exist_ok=True)
    suite = Suite(parts, arguments.lanes, arguments.beside)

    def interrupt(*_: object) -> None:
        suite.interrupted = True

    # A shell that runs this in the background has it ignore SIGINT, which all children would inherit.
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    passed = suite.run()
    if suite.interrupted:
        print("interrupted", file=sys.stderr)
        return 130
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
