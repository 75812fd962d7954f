"""Proposed plans: quality, time and memory.

`python -m bench.proposals [--sizes small,10k,200k,1m,2m] [--no-generate]`.

Each size is a cluster made from a seed (bench.proposal_clusters), in a process of its own. Times are from the
snapshot in memory to the proposal, as wall-clock and CPU seconds; memory is the peak of the process, the
snapshot included. Up to 10,000 partitions, `kafka-reassign-partitions --generate` of Kafka 4.3 plans for the
same cluster, on embedded brokers; it knows only a list of brokers. Small clusters are also solved by HiGHS,
as mixed-integer programs. Counts and bytes are the highest and lowest of a broker, relative to the mean of
its rack. Topics are the topic excess before and after.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from bench.proposal_clusters import Shape, make
from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.result import Proposal
from planner.proposing import propose
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tools.java import java_command
from tools.processes import Reassignd
from tools.proposal_oracle_input import for_oracle
from tools.raw_connection import RawConnection

FIVE = Fraction(1, 20)
TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOPICS_PER_REQUEST = 200
EXACT = "balance, replicas, 0 %"
SMALL = 10
"""Clusters of so few brokers are too coarse for a ratio of bytes."""
TABLE = "{:50} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>11} {:>11} {:>9} {:>17} {:>8} {:>8}"
HEAD = (
    "cluster, goal", "moves", "bound", "HiGHS", "generate", "GB", "/bound", "counts", "bytes",
    "leaders", "topics", "wall s", "CPU s",
)  # fmt: skip


class Size(NamedTuple):
    """A cluster size; `seconds` are the targets of drain and demote, and of all other goals."""

    shape: Shape
    seconds: tuple[float, float] = (1, 1)
    generate: bool = False
    oracle: bool = False


SIZES = {
    "small": Size(Shape(100, 6), generate=True, oracle=True),
    "10k": Size(Shape(10_000, 30), generate=True),
    "200k": Size(Shape(200_000, 100), (10, 10)),
    "1m": Size(Shape(1_000_000, 500), (5, 30)),
    "2m": Size(Shape(2_000_000, 500), (10, 60)),
}


class Run(NamedTuple):
    """A cluster and a goal."""

    name: str
    shape: Shape
    goal: Goal


def runs(shape: Shape) -> Iterator[Run]:
    """Yield the goals for a size."""
    drained = frozenset(range(1, 1 + max(1, shape.brokers // 50)))
    added = 3 * max(1, shape.brokers // 20)
    new = frozenset(range(shape.brokers + 1, shape.brokers + added + 1))
    even = Goal(even_counts=True, even_leaders=True, tolerance=FIVE, by="both")
    yield Run(f"drain {len(drained)}", shape, Goal(drain=drained))
    yield Run("demote 1", shape, Goal(demote=frozenset({1})))
    exact = even._replace(by="replicas", tolerance=Fraction(0))
    yield Run(EXACT, shape, exact)
    yield Run("balance, both, 5 %", shape, even)
    if shape.partitions > 200_000:
        return
    yield Run("balance, bytes, 5 %", shape, even._replace(by="bytes"))
    yield Run(f"add {added}, both, 5 %", shape._replace(added=added), even._replace(add=new))
    yield Run("balance, half of the moves", shape, exact)
    yield Run("balance, replicas, --spread topic", shape, exact._replace(spread="topic"))
    yield Run("balance, replicas, --minimize bytes", shape, exact._replace(minimize="bytes"))
    yield Run("racks (placed regardless of them)", shape._replace(by_rack=False), Goal(repair_racks=True))
    yield Run("rf 2 to 3", shape._replace(factor=2), Goal(factor=3))


def measure(name: str, *, generate: bool) -> bool:
    """Print a line for each goal. Return whether the targets are met."""
    size, met, half = SIZES[name], True, 0
    snapshots: dict[Shape, Snapshot] = {}
    for run in runs(size.shape):
        if run.shape not in snapshots:
            snapshots = {run.shape: make(run.shape)}
        limited = run.goal._replace(max_moves=half) if run.name.endswith("moves") else run.goal
        moves, in_time = measure_run(
            size, run._replace(goal=limited), snapshots[run.shape], generate=generate
        )
        met &= in_time
        half = moves // 2 if run.name == EXACT else half
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory with the snapshot: {peak:.2f} GiB\n", flush=True)
    return met


def measure_run(size: Size, run: Run, snapshot: Snapshot, *, generate: bool) -> tuple[int, bool]:
    """Print the line of a goal. Return the moves, and whether the targets are met."""
    goal, shape = run.goal, run.shape
    wall, processor = perf_counter(), process_time()
    proposal = propose(problem_of(snapshot, goal))
    wall, processor = perf_counter() - wall, process_time() - processor
    other = str(generated_moves(snapshot, goal)) if generate and size.generate else ""
    fewest = goal.by == "replicas" and goal.spread == "cluster" and goal.minimize == "moves"
    best = str(optimum(snapshot, goal)) if size.oracle and fewest and not goal.max_moves else ""
    label = f"{shape.partitions:,} / {shape.brokers}, {run.name}"
    times = f"{wall:.2f}", f"{processor:.2f}"
    print(TABLE.format(label, *figures(proposal, goal, best, other), *times), flush=True)
    seconds = size.seconds[0 if run.name.startswith(("drain", "demote")) else 1]
    return proposal.moves, missed(label, proposal, goal, processor, seconds)


def figures(proposal: Proposal, goal: Goal, best: str, other: str) -> list[str]:
    """Return the cells of a row between its label and its times."""
    brokers = [each for each in proposal.brokers if each.broker not in goal.drain]
    counts = relative({each.broker: each.after.replicas for each in brokers}, proposal)
    sizes = relative({each.broker: each.after.bytes for each in brokers}, proposal)
    leaders = [each.after.leaders for each in brokers]
    ratio = f"{proposal.bytes / proposal.bytes_bound:.2f}" if proposal.bytes_bound else ""
    return [
        f"{proposal.moves:,}",
        f"{proposal.moves_bound:,}",
        best,
        other,
        f"{proposal.bytes / 1e9:,.0f}",
        ratio,
        f"{max(counts):.2f} {min(counts):.2f}",
        f"{max(sizes):.2f} {min(sizes):.2f}",
        f"{min(leaders)}-{max(leaders)}",
        f"{proposal.topic_excess_before}-{proposal.topic_excess_after}",
    ]


def relative(amounts: Mapping[int, int], proposal: Proposal) -> list[float]:
    """Return the amounts relative to the mean of the same rack: racks with fewer brokers have fuller ones."""
    racks: dict[str | None, list[int]] = {}
    for each in proposal.brokers:
        if each.broker in amounts:
            racks.setdefault(each.rack, []).append(amounts[each.broker])
    return [amount * len(rack) / max(1, sum(rack)) for rack in racks.values() for amount in rack]


def missed(label: str, proposal: Proposal, goal: Goal, processor: float, seconds: float) -> bool:
    """Print the targets that are missed. Return whether there are none."""
    remaining = {each.broker: each.after.bytes for each in proposal.brokers if each.broker not in goal.drain}
    uneven = max(relative(remaining, proposal))
    by_bytes = goal.even_counts and goal.by != "replicas"
    leaders = [each.after.leaders for each in proposal.brokers]
    targets = {
        f"{processor:.1f} CPU s (at most {seconds:g})": processor > seconds,
        f"{proposal.moves:,} moves (bound {proposal.moves_bound:,})": not by_bytes
        and goal.spread == "cluster"
        and not proposal.fewest_moves_proven,
        f"bytes max/mean {uneven:.3f} (at most 1.05)": by_bytes and uneven > 1.0505,
        f"bytes {proposal.bytes / max(1, proposal.bytes_bound):.3f} of the bound (at most 1.07)": goal.by
        == "both"
        and len(proposal.brokers) > SMALL
        and proposal.bytes > 1.07 * proposal.bytes_bound,
        f"{proposal.rack_excess_after} replicas against the rack rule": proposal.rack_excess_after > 0,
        f"leaders from {min(leaders)} to {max(leaders)}": goal.even_leaders
        and goal.by != "bytes"  # where few replicas are, few can lead
        and max(leaders) - min(leaders) > 1,
    }
    for target, is_missed in targets.items():
        if is_missed:
            print(f"    MISSED: {label}: {target}", flush=True)
    return not any(targets.values())


def optimum(snapshot: Snapshot, goal: Goal) -> int:
    """Return the least number of moves by HiGHS, in a process of its own."""
    text = json.dumps([for_oracle(problem_of(snapshot, goal))])
    command = [sys.executable, "-m", "tools.proposal_oracle"]
    solved = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    moves: int = json.loads(solved.stdout)[0][2]
    return moves


def generated_moves(snapshot: Snapshot, goal: Goal) -> int:
    """Return the moves of the plan that Kafka's tool generates for the brokers that are not drained."""
    with tempfile.TemporaryDirectory() as folder:
        server = Reassignd(Path(folder) / "data", {"log.level": "WARN"}, len(snapshot.brokers))
        server.start()
        try:
            create(server.bootstrap, snapshot)
            topics = Path(folder) / "topics.json"
            names = sorted({topic for topic, _ in snapshot.partitions})
            topics.write_text(json.dumps({"version": 1, "topics": [{"topic": name} for name in names]}))
            brokers = ",".join(str(each) for each in sorted(snapshot.brokers.keys() - goal.drain))
            arguments = ["--bootstrap-server", server.bootstrap, "--generate", "--broker-list", brokers]
            arguments += ["--topics-to-move-json-file", str(topics)]
            ran = subprocess.run(
                java_command("tools-4.3", TOOL, *arguments, heap_mb=512),
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            server.stop()
    plan = json.loads([line for line in ran.stdout.splitlines() if line.strip()][-1])
    return sum(
        len(set(row["replicas"]) - set(snapshot.partitions[row["topic"], row["partition"]].replicas))
        for row in plan["partitions"]
    )


def create(bootstrap: str, snapshot: Snapshot) -> None:
    """Create the topics of the snapshot."""
    rows: dict[str, list[CreatableReplicaAssignment]] = {}
    for (topic, number), partition in snapshot.partitions.items():
        rows.setdefault(topic, []).append(CreatableReplicaAssignment(number, partition.replicas))
    connection = RawConnection(bootstrap)
    names = list(rows)
    for begin in range(0, len(names), TOPICS_PER_REQUEST):
        part = [
            CreatableTopic(name, -1, -1, rows[name]) for name in names[begin : begin + TOPICS_PER_REQUEST]
        ]
        answer = connection.ask(CreateTopicsRequest(part), 7)
        assert Counter(topic.error_code for topic in answer.topics).keys() == {0}
    connection.close()


def main() -> int:
    """Measure each size in a process of its own. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--no-generate", action="store_true")
    parser.add_argument("--here", metavar="SIZE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return int(not measure(options.here, generate=not options.no_generate))
    print(TABLE.format(*HEAD), flush=True)
    more = ["--no-generate"] if options.no_generate else []
    commands = [
        [sys.executable, "-m", "bench.proposals", "--here", size, *more] for size in options.sizes.split(",")
    ]
    return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
