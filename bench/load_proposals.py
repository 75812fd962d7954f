"""Plans for measured loads: bytes, evenness, time and memory, beside a greedy balance and the optimum.

`python -m bench.load_proposals [--sizes 10k,200k] [--oracle 300]`.

Each size is a cluster of `bench.proposal_clusters` with rates that differ by topic and partition. The greedy
balance is `bench.goal_by_goal`. The oracle compares small random clusters with mixed-integer programs
(HiGHS). Times are wall-clock and CPU seconds from the snapshot in memory to the proposal; memory is the peak
of the process, the snapshot included.
"""

import argparse
import random
import resource
import subprocess
import sys
from fractions import Fraction
from time import perf_counter, process_time

import numpy as np

from bench.goal_by_goal import one_after_the_other
from bench.proposal_clusters import Shape, make
from planner.model.snapshot import Load, Snapshot
from planner.proposals.by_load.balance import balanced_sets
from planner.proposals.by_load.task import task_of
from planner.proposals.problem.goal import Goal, Problem, problem_of
from planner.proposals.solver.solve import input_of
from planner.proposing import propose
from tools.load_oracle_input import optima, random_cluster, random_goal

SIZES = {"10k": Shape(10_000, 30), "200k": Shape(200_000, 100), "1m": Shape(1_000_000, 500)}
SECONDS = {"10k": 3.0, "200k": 60.0, "1m": 180.0}
"""Targets in CPU seconds."""
GOAL = Goal(even_counts=True, loads=("replicas", "bytes", "in"), tolerance=Fraction(1, 20))
ROW = "{:28} {:>10} {:>9} {:>8} {:>22} {:>22} {:>8} {:>8}"
HEAD = ("cluster, planner", "TB", "/ bound", "moves", "highest share", "lowest share", "wall s", "CPU s")
MOST_RATIO = 1.05


def measured(shape: Shape) -> Snapshot:
    """Return a cluster with rates."""
    snapshot, rng = make(shape), random.Random(5)
    rates: dict[str, float] = {}
    for key, row in snapshot.partitions.items():
        rate = rates.setdefault(key[0], 10 ** rng.uniform(2, 5.5)) * rng.paretovariate(2)
        snapshot.partitions[key] = row._replace(load=Load(rate, 2 * rate, rate, 2 * rate))
    return snapshot


def measure(name: str) -> bool:
    """Print a line for our plan and one for the greedy balance. Return whether the targets are met."""
    problem = problem_of(measured(SIZES[name]), GOAL)
    wall, processor = perf_counter(), process_time()
    proposal = propose(problem)
    wall, processor = perf_counter() - wall, process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    highest = " ".join(f"{each.highest[1]:.3f}" for each in proposal.loads)
    lowest = " ".join(f"{each.lowest[1]:.3f}" for each in proposal.loads)
    bound = max(1, proposal.bytes_bound)
    amounts = f"{proposal.bytes / 1e12:.3f}", f"{proposal.bytes / bound:.3f}", f"{proposal.moves:,}"
    times = f"{wall:.1f}", f"{processor:.1f}"
    print(ROW.format(f"{name}, reassignd", *amounts, highest, lowest, *times), flush=True)
    greedy(name, problem, bound)
    print(f"peak memory with the snapshot: {peak:.2f} GiB\n", flush=True)
    return proposal.bytes <= MOST_RATIO * bound and processor <= SECONDS[name]


def greedy(name: str, problem: Problem, bound: int) -> None:
    """Print the line of the greedy balance."""
    arrays = input_of(problem)
    task = task_of(problem, arrays)
    wall, processor = perf_counter(), process_time()
    sets = one_after_the_other(task)
    times = f"{perf_counter() - wall:.1f}", f"{process_time() - processor:.1f}"
    shares = task.carried(sets) / task.ranges.share
    highest, lowest = (
        " ".join(f"{each:.3f}" for each in row) for row in (shares.max(axis=0), shares.min(axis=0))
    )
    moves, copied = arrays.cost(sets)
    amounts = f"{copied / 1e12:.3f}", f"{copied / bound:.3f}", f"{moves:,}"
    print(ROW.format(f"{name}, goal by goal", *amounts, highest, lowest, *times), flush=True)


def compare(count: int) -> bool:
    """Compare small clusters with the optimum. Return whether the targets are met."""
    problems = [problem_of(random_cluster(seed), random_goal(seed)) for seed in range(count)]
    ratios, missed, impossible, ahead = [], 0, 0, 0
    for problem, least in zip(problems, optima(problems), strict=True):
        arrays = input_of(problem)
        found = balanced_sets(problem, arrays)
        impossible += least is None
        missed += least is not None and found.violation > 0
        if least is not None and found.violation <= 0:
            ratios.append(arrays.cost(found.sets)[1] / max(1.0, least))
        task = task_of(problem, arrays)
        ahead += least is not None and task.violation(one_after_the_other(task)) > 0
    near = float(np.mean(np.array(ratios) <= 1.10)) if ratios else 1.0
    print(
        f"{count} random clusters: {impossible} without a plan; {missed} missed;"
        f" {100 * near:.1f} % within 1.10 of the optimum, the worst {max(ratios, default=1.0):.3f};"
        f" goal by goal misses {ahead}",
        flush=True,
    )
    return not missed and near >= 0.95


def main() -> int:
    """Measure each size in a process of its own. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="10k,200k")
    parser.add_argument("--oracle", type=int, default=0, metavar="CLUSTERS")
    parser.add_argument("--here", metavar="SIZE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return int(not measure(options.here))
    print(ROW.format(*HEAD), flush=True)
    commands = [
        [sys.executable, "-m", "bench.load_proposals", "--here", size] for size in options.sizes.split(",")
    ]
    missed = max(subprocess.run(command, check=False).returncode for command in commands)
    return max(missed, int(options.oracle > 0 and not compare(options.oracle)))


if __name__ == "__main__":
    sys.exit(main())
