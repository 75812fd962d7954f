"""Snapshots with the size of each replica: `python -m bench.snapshot_sizes [--before CHECKOUT]`.

A snapshot of 200,000 partitions with three replicas is written by the server, read back, written to a file,
and made into the columns of the solver, each in a process of its own: CPU seconds, the memory that this takes
beside its input, and the memory of the whole process, with its input. With `--before`, the same is done by
the code of another checkout, of a version whose snapshots have no such sizes, and the factors between both
are printed. The first two should be at most 1.3, where more than 10 MB are taken.
"""

import argparse
import gc
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from controller.model.cluster import Broker as Registration
from controller.model.cluster import Partition as Record
from controller.model.cluster import Topic
from controller.model.replicas import TopicPartition
from controller.modes import GATEWAY
from controller.state.state import State
from planner.model.snapshot import Broker, Partition, Snapshot, read_snapshot, write_snapshot

PARTITIONS, BROKERS, TOPIC, REPEATS = 200_000, 100, 50, 3
DIRS = ("/var/lib/kafka/data-1", "/var/lib/kafka/data-2")
MOST, LEAST_MB = 1.3, 10
PARTS = ("serve", "read", "write", "columns")


@cache
def shared(dirs: tuple[str, ...]) -> tuple[str, ...]:
    """Return an equal tuple, the same for equal arguments."""
    return dirs


def rows() -> Iterator[tuple[str, int, tuple[int, ...], tuple[int, ...], tuple[str, ...]]]:
    """Yield topic, number, replicas, and the size and directory of each replica."""
    rng = random.Random(28)
    for number in range(PARTITIONS):
        first = rng.randrange(BROKERS)
        replicas = tuple(1 + (first + each * 7) % BROKERS for each in range(3))
        size = rng.randrange(10**7, 10**11)
        sizes = tuple(int(size * rng.uniform(0.9, 1.1)) for _ in replicas)
        dirs = shared(tuple(rng.choice(DIRS) for _ in replicas))
        yield f"topic-{number // TOPIC:05}", number % TOPIC, replicas, sizes, dirs


def snapshot() -> Snapshot:
    """Return the cluster, with the sizes of replicas if this version has them."""
    partitions = {}
    has_sizes = "packed_sizes" in Partition._fields
    for topic, number, replicas, sizes, dirs in rows():
        row: Any = Partition(topic, number, replicas, replicas, replicas[0], sizes[0], 2)
        if has_sizes:
            from planner.model.snapshot import packed

            row = row._replace(packed_sizes=packed(sizes), log_dirs=dirs)
        partitions[topic, number] = row
    return Snapshot({each: Broker(each, f"rack-{each % 3}") for each in range(1, BROKERS + 1)}, partitions)


class Sizes:
    """Sizes of a state, as the gateway has them."""

    def __init__(self, state: State) -> None:
        self.state = state

    def size(self, key: TopicPartition) -> int | None:
        """Return the bytes of the leader's replica."""
        known: Any = self.state.cluster
        size: int | None = known.copied_size(key) if hasattr(known, "copied_size") else known.sizes.get(key)
        return size

    def stored(self, key: TopicPartition) -> Any:
        """Return all replicas."""
        return self.state.cluster.stored.get(key)


def state() -> State:
    """Return the state of a gateway that has measured all replicas."""
    result = State(mode=GATEWAY)
    cluster: Any = result.cluster
    for number in range(1, BROKERS + 1):
        result.put(Registration(number, f"kafka-{number}", 9092, f"rack-{number % 3}", 0))
    for topic, number, replicas, sizes, dirs in rows():
        if number == 0:
            result.put(Topic(topic, topic.encode().ljust(16)))
        result.put(Record(topic, number, replicas, replicas, replicas[0]))
        key = TopicPartition(topic, number)
        if hasattr(cluster, "stored"):
            from controller.model.replicas import StoredReplica

            found = [*map(StoredReplica, replicas, sizes, dirs)]
            cluster.measure({key: sizes[0]}, {}, {key: found})
        else:
            cluster.sizes[key] = sizes[0]
    return result


def serve(_: Path) -> Callable[[], object]:
    """Return the work: the lines of `/v1/snapshot`, one after the other."""
    from msgspec.json import Encoder

    from server.api.resources.snapshot import rows as served

    known: Any = state()
    encoder = Encoder()
    sizes: Any = Sizes(known)
    without_loads = (None,) if "load" in signature(served).parameters else ()
    each: Any = served
    return lambda: sum(len(encoder.encode(row)) for row in each("", known, sizes, *without_loads))


def read(path: Path) -> Callable[[], object]:
    """Return the work: a file becomes a snapshot in memory."""
    write_snapshot(snapshot(), path)
    gc.collect()
    return lambda: read_snapshot(path)


def write(path: Path) -> Callable[[], object]:
    """Return the work: a snapshot in memory becomes a file."""
    whole = snapshot()
    return lambda: write_snapshot(whole, path)


def columns(_: Path) -> Callable[[], object]:
    """Return the work: a snapshot in memory becomes columns."""
    from planner.proposals.problem.table import columns_of

    whole = snapshot()
    return lambda: columns_of(whole, ())


def measure(part: str) -> None:
    """Print CPU seconds, and MB beside the input and in all."""
    with TemporaryDirectory() as folder:
        work = {"serve": serve, "read": read, "write": write, "columns": columns}[part](
            Path(folder, "s.jsonl")
        )
        before, began = _resident(), process_time()
        kept = work()
        seconds = process_time() - began
        most = getrusage(RUSAGE_SELF).ru_maxrss / 1e3
        print(seconds, max(0, most - before / 1e6) if _resident() > before else 0, most)
        del kept


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def results(checkout: Path, part: str) -> tuple[float, float, float]:
    """Return the least of several runs of a part."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--part", part]
    runs = [
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=checkout)
        for _ in range(REPEATS)
    ]
    seconds, taken, most = (
        min(map(float, each)) for each in zip(*(run.stdout.split() for run in runs), strict=True)
    )
    return seconds, taken, most


def main() -> int:
    """Print a table. Return 1 if a factor is above MOST."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of a version before")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        measure(options.part)
        return 0
    print("| part | CPU s | MB | MB in all | factors to the version before |\n|---|---|---|---|---|")
    worst = 0.0
    for part in PARTS:
        now = results(Path(__file__).resolve().parent.parent, part)
        factors = ""
        if options.before is not None:
            before = results(options.before.resolve(), part)
            each = [new / max(1e-9, old) for new, old in zip(now, before, strict=True)]
            factors = f"{each[0]:.2f}, {each[1]:.2f}, {each[2]:.2f}"
            worst = max(worst, each[0], each[1] if now[1] > LEAST_MB else 0)
        print(f"| {part} | {now[0]:.2f} | {now[1]:.0f} | {now[2]:.0f} | {factors} |", flush=True)
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
