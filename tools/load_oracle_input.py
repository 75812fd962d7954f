"""Small random clusters with loads, and their problems as JSON values for `tools.load_oracle`."""

import json
import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

from planner.model.snapshot import Broker, Load, Partition, Snapshot
from planner.proposals.problem.goal import Goal, LoadName, Problem
from planner.proposals.problem.loads import replica_ranges, weights_of

LOADS: tuple[LoadName, ...] = ("bytes", "in")


def random_cluster(seed: int) -> Snapshot:
    """Return a cluster of 3 to 8 brokers in one or two racks, with up to 60 partitions."""
    rng = random.Random(seed)
    count, racks = rng.randint(3, 8), rng.randint(1, 2)
    brokers = {number: Broker(number, f"rack-{number % racks}") for number in range(1, count + 1)}
    groups = [[number for number in brokers if number % racks == rack] for rack in range(racks)]
    partitions = {}
    for number in range(rng.randint(count * 4, 60)):
        full = [group[: max(1, len(group) - 1)] if rng.random() < 0.5 else group for group in groups]
        replicas = tuple(rng.choice(group) for group in full)
        size, rate = int(1000 * rng.paretovariate(2.5)), 1000 * rng.paretovariate(2.5)
        load = Load(rate, 2 * rate, rate, 2 * rate)
        name = "foo", number
        partitions[name] = Partition(*name, replicas, replicas, replicas[0], size, load=load)
    return Snapshot(brokers, partitions)


def random_goal(seed: int) -> Goal:
    """Return a goal for it."""
    tolerance = Fraction(random.Random(seed).choice([5, 10, 15]), 100)
    return Goal(even_counts=True, loads=LOADS, tolerance=tolerance)


def for_oracle(problem: Problem) -> dict[str, Any]:
    """Return racks, partitions and ranges; see `tools.load_oracle.least_bytes`."""
    ranges = [replica_ranges(problem, load) for load in problem.goal.loads]
    weights = [weights_of(problem.table, problem.goal, load).tolist() for load in problem.goal.loads]
    rows = [
        [row.replicas, row.bytes, [each[number] for each in weights]]
        for number, row in enumerate(problem.rows)
    ]
    return {
        "racks": {str(node.id): node.rack for node in problem.nodes},
        "rows": rows,
        "ranges": {str(node.id): [each[node.id].range for each in ranges] for node in problem.nodes},
    }


def optima(problems: list[Problem]) -> list[float | None]:
    """Return the least bytes of each problem, None where no plan is within all ranges."""
    text = json.dumps([for_oracle(problem) for problem in problems])
    command = [sys.executable, "-m", "tools.load_oracle"]
    solved = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    result: list[float | None] = json.loads(solved.stdout)
    return result
