"""Moves between log directories: `python -m bench.disk_proposals [--sizes 1k,10k,200k]`.

Brokers have four directories each, filled unevenly from a seed, with sizes as of `bench.proposal_clusters`.
The plan is compared with its bound, and with what a plain greedy rule copies: the largest replica that fits,
from the fullest directory to the emptiest one, as long as one is outside of its range. Then a directory of
each broker is emptied. Seconds are CPU time from the snapshot in memory to the moves.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

from bench.proposal_clusters import Shape, make
from planner.disk_proposing import propose_disks, read_disk_goal
from planner.model.snapshot import LogDir, Snapshot, packed
from planner.proposals.disks.result import DirChange, DiskProposal

DIRS = tuple(f"/data{number}" for number in range(1, 5))
WEIGHTS = (4, 3, 2, 1)
"""How many replicas directories got, relative to each other."""
FULL = 0.6
"""How full the directories of a broker are in the mean."""
SIZES = {"1k": Shape(1_000, 12), "10k": Shape(10_000, 30), "200k": Shape(200_000, 100)}
TABLE = "{:28} {:>7} {:>10} {:>12} {:>12} {:>8} {:>7}"
TOLERANCES = ("10%", "1%")


class Greedy(NamedTuple):
    """What the plain rule copies, and how many directories it leaves outside of their ranges."""

    bytes: int
    outside: int


def cluster(shape: Shape) -> Snapshot:
    """Return the cluster."""
    rng, snapshot = random.Random(5), make(shape)
    used: dict[tuple[int, str], int] = defaultdict(int)
    partitions = {}
    for key, row in snapshot.partitions.items():
        log_dirs = tuple(rng.choices(DIRS, WEIGHTS, k=len(row.replicas)))
        sizes = tuple(int(row.size * rng.uniform(0.9, 1.1)) for _ in row.replicas)
        for each, path, size in zip(row.replicas, log_dirs, sizes, strict=True):
            used[each, path] += size
        partitions[key] = row._replace(packed_sizes=packed(sizes), log_dirs=log_dirs)
    brokers = {}
    for number, broker in snapshot.brokers.items():
        # The fullest directory holds 40 %: volumes have room for that.
        held = [used[number, path] for path in DIRS]
        total = max(int(sum(held) / len(DIRS) / FULL), int(max(held) * 1.1), 1)
        dirs = {path: LogDir(total, total - size) for path, size in zip(DIRS, held, strict=True)}
        brokers[number] = broker._replace(dirs=dirs)
    return snapshot._replace(brokers=brokers, partitions=partitions)


def greedy(snapshot: Snapshot, dirs: Sequence[DirChange]) -> Greedy:
    """Even out by the plain rule, within the ranges of the plan."""
    held: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row in snapshot.partitions.values():
        for broker, path, size in zip(row.replicas, row.log_dirs or (), row.sizes or (), strict=True):
            if path is not None and size:
                held[broker, path].append(size)
    by_broker: dict[int, list[DirChange]] = defaultdict(list)
    for each in dirs:
        by_broker[each.broker].append(each)
    found = [_greedy(known, [held[each.broker, each.path] for each in known]) for known in by_broker.values()]
    return Greedy(sum(each.bytes for each in found), sum(each.outside for each in found))


def _greedy(dirs: Sequence[DirChange], held: Sequence[list[int]]) -> Greedy:
    used, copied = [each.before or 0 for each in dirs], 0
    for sizes in held:
        sizes.sort()
    while any(not (each.least or 0) <= now <= (each.most or 0) for each, now in zip(dirs, used, strict=True)):
        source, target = used.index(max(used)), used.index(min(used))
        most = (dirs[target].most or 0) - used[target]
        fitting = [size for size in held[source] if size <= min(most, used[source] - used[target])]
        if not fitting:
            break
        held[source].remove(fitting[-1])
        used[source] -= fitting[-1]
        used[target] += fitting[-1]
        copied += fitting[-1]
    outside = sum(
        not (each.least or 0) <= now <= (each.most or 0) for each, now in zip(dirs, used, strict=True)
    )
    return Greedy(copied, outside)


def main() -> None:
    """Print a row for each size and goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(SIZES))
    print(TABLE.format("cluster, goal", "moves", "GB", "bytes/bound", "greedy/bound", "outside", "CPU s"))
    for name in parser.parse_args().sizes.split(","):
        snapshot = cluster(SIZES[name])
        for tolerance in TOLERANCES:
            started = process_time()
            found = propose_disks(snapshot, read_disk_goal(["disks"], {"tolerance": tolerance}))
            seconds = process_time() - started
            plain = greedy(snapshot, found.dirs)
            _print(f"{name}, even within {tolerance}", found, seconds, plain)
        empty = [f"{broker}:{DIRS[3]}" for broker in snapshot.brokers]
        started = process_time()
        found = propose_disks(snapshot, read_disk_goal(["disks"], {"empty": empty, "relieve_to": "95%"}))
        _print(f"{name}, empty {DIRS[3]}", found, process_time() - started)


def _print(name: str, found: DiskProposal, seconds: float, plain: Greedy | None = None) -> None:
    bound = max(1, found.bytes_bound)
    ratio = "" if plain is None else f"{plain.bytes / bound:.4f}"
    outside = f"{len(found.short)}" + ("" if plain is None else f"/{plain.outside}")
    cells = f"{found.bytes / 1e9:.0f}", f"{found.bytes / bound:.5f}", ratio, outside, f"{seconds:.2f}"
    print(TABLE.format(name, f"{len(found.moves):,}", *cells), flush=True)


if __name__ == "__main__":
    main()
