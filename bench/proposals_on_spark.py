"""Proposals for snapshots that Spark reads: `python -m bench.proposals_on_spark [--sizes 200k,1m]`.

The clusters are those of `bench.proposals`, as a file of JSON lines. Times are from the file to the proposal
on local[2], as wall-clock seconds and as CPU seconds of both processes: the first one includes the start of
Spark, the others are warm. The same file is proposed for without Spark, and the plans are compared. Memory is
the peak of each process.
"""

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, NamedTuple

from bench.proposal_clusters import make
from bench.proposals import SIZES, Run, runs
from planner.model.snapshot import read_snapshot, write_snapshot
from planner.proposals.proposal_text import plan_json
from planner.proposals.result import Proposal
from planner.proposing import GoalOptions, propose_for, propose_on
from planner.spark import running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_SECONDS = 60.0
GOALS = ("drain", "balance, both")


class Took(NamedTuple):
    """Wall-clock seconds, CPU seconds, and the plan."""

    wall: float
    processor: float
    proposal: Proposal

    def __str__(self) -> str:
        return f"{self.wall:6.1f} s ({self.processor:5.1f} CPU s)"


def timed(work: Callable[[], Proposal], java: Callable[[], float] = lambda: 0.0) -> Took:
    """Run the work; `java` returns the CPU seconds of the JVM so far."""
    wall, processor = perf_counter(), process_time() + java()
    proposal = work()
    return Took(perf_counter() - wall, process_time() + java() - processor, proposal)


def java_pid() -> int:
    """Return the process id of the JVM, the only child of this process."""
    [pid] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(pid)


def java_seconds(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def java_gigabytes(pid: int) -> float:
    """Return the peak memory of a process, in GiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def own_gigabytes() -> float:
    """Return the peak memory of this process, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(name: str, path: Path) -> bool:
    """Print the times and the memory of a size. Return whether plans are equal and the target is met."""
    chosen = [each for each in runs(SIZES[name].shape) if each.name.startswith(GOALS)]
    started = perf_counter()
    with running("local[2]") as spark:
        print(f"{name}: start of Spark {perf_counter() - started:.1f} s", flush=True)
        warm = [on_spark(spark, name, run, path) for run in chosen]
        used = f"{own_gigabytes():.2f} GiB, Java {java_gigabytes(java_pid()):.2f} GiB"
        print(f"{name}: peak memory {used}", flush=True)
    same = [compare(name, run, path, took.proposal) for run, took in zip(chosen, warm, strict=True)]
    return all(same) and all(took.wall <= WARM_SECONDS for took in warm)


def on_spark(spark: "SparkSession", name: str, run: Run, path: Path) -> Took:
    """Propose three times. Return the faster one of the warm runs."""
    goal_options = GoalOptions(run.goal, lambda _: True)
    pid = java_pid()
    first, *others = (
        timed(lambda: propose_on(spark, path, goal_options)[1], lambda: java_seconds(pid)) for _ in range(3)
    )
    warm = min(others, key=attrgetter("wall"))
    print(f"{name}, {run.name}: first {first}, warm {warm}", flush=True)
    return warm


def compare(name: str, run: Run, path: Path, expected: Proposal) -> bool:
    """Propose without Spark. Return whether the plan is the same."""
    took = timed(lambda: propose_for(read_snapshot(path), GoalOptions(run.goal, lambda _: True)))
    same = plan_json(took.proposal.changes) == plan_json(expected.changes)
    verdict = "the same plan" if same else "ANOTHER PLAN"
    print(f"{name}, {run.name}: without Spark {took}, {verdict}; {own_gigabytes():.2f} GiB", flush=True)
    return same


def main() -> int:
    """Measure each size in a process of its own. Return 1 if plans differ or a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="200k,1m")
    parser.add_argument("--file", metavar="PATH", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        return int(not measure(options.sizes, options.file))
    failed = 0
    with TemporaryDirectory() as folder:
        for size in options.sizes.split(","):
            path = Path(folder) / f"{size}.jsonl"
            write_snapshot(make(SIZES[size].shape), path)
            command = [sys.executable, "-m", "bench.proposals_on_spark", "--sizes", size, "--file", str(path)]
            failed |= subprocess.run(command, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
