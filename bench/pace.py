"""Which signals lead the latency of producers during a move, and what slows a move best.

`python -m bench.pace`.

A real Kafka 4.1 with four brokers on this machine, producers on all of them, and a topic whose followers move
there and back in several modes: at once, with Kafka's throttle, with windows, and with
`reassignment.pace=auto`. For each run a process of its own (`bench.pace_probe`) produces and samples the
signals. Written are a table, `pace.json` with the figures of each run, and plots. Latencies depend on other
work on the machine: compare the runs of one table. A mode in which nothing moves shows how much they differ
by chance.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import getloadavg, sysconf
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.broker_network import fetch_settings, limited
from bench.gateway_cluster import FULL_SPEED, Site, configure, listed, load, site
from bench.pace_plots import plot
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tools.raw_connection import RawConnection
from tools.waiting import wait_until

LOADED, CANARY, BIG = "loaded", "canary", "big"
BROKERS = 4
LOADED_PARTITIONS = BROKERS * (BROKERS - 1)
"""One for each leader and follower."""
RECORD_BYTES = 10_000
MOVE_SECONDS = 3_600.0
"""Limit for a move."""
FACTOR = 1.5
"""Producers' p99 may be this multiple of the idle one (`reassignment.pace.produce.latency.factor`)."""
SIGNALS = ("canary", "relayed", "trip", "offsets", "lag", "isr")
LIMIT = "reassignment.max.concurrent."

Sample = tuple[float, int, float]


class Mode(NamedTuple):
    """How a plan is moved: by the gateway or by Kafka, with these cluster-wide configs and throttle."""

    name: str
    gateway: bool = True
    configs: Mapping[str, str] = {}
    throttle: int | None = None
    moves: bool = True


def paced(factor: float) -> dict[str, str]:
    """Return the configs for a target of this multiple of the idle latency."""
    return {"reassignment.pace": "auto", "reassignment.pace.produce.latency.factor": str(factor)}


ONE_EACH = {LIMIT + "replica.movements.per.broker": "1"}
MODES = [
    Mode("nothing moves", moves=False),
    Mode("Kafka, all at once", gateway=False),
    Mode("gateway, all at once"),
    *(Mode(f"Kafka, throttle {rate} MB/s", False, {}, rate * 10**6) for rate in (25, 50, 100)),
    *(Mode(f"window P={n}", True, {LIMIT + "partition.movements": str(n)}) for n in (1, 2, 5, 10)),
    Mode("window B=1", True, ONE_EACH),
    *(Mode(f"B=1, throttle {rate} MB/s", True, ONE_EACH, rate * 10**6) for rate in (10, 20)),
    *(Mode(f"pace, factor {factor:g}", True, paced(factor)) for factor in (1.5, 3)),
]


class Run(NamedTuple):
    """One move with all samples. Times are in seconds since the start of the probe."""

    mode: str
    began: float
    ended: float
    samples: Mapping[str, Sequence[Sample]]
    cores: float = 0.0
    """How many cores of the machine were busy during the move, with all that runs there."""


def replicas(partition: int, there: bool) -> tuple[int, int]:
    """Return leader and follower; the follower moves by one broker."""
    leader = partition % BROKERS + 1
    return leader, (partition + (2 if there else 1)) % BROKERS + 1


def loaded_replicas(partition: int) -> tuple[int, int]:
    """Return leader and follower of a partition with producers.

    All pairs of brokers take part, as in a real cluster.
    """
    leader = partition % BROKERS
    return leader + 1, (leader + 1 + partition // BROKERS) % BROKERS + 1


def create(at: Site, topic: str, assigned: Sequence[tuple[int, int]]) -> None:
    """Create a topic with these replicas. Partition i is led by broker i % 4 + 1."""
    rows = [CreatableReplicaAssignment(i, each) for i, each in enumerate(assigned)]
    connection = RawConnection(at.kafka.bootstrap)
    request = CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], timeout_ms=100_000)
    answer = connection.ask(request, 7)
    connection.close()
    assert answer.topics[0].error_code == 0, answer


def submit(bootstrap: str, partitions: int, there: bool) -> None:
    """Move the followers of the big topic."""
    rows = [ReassignablePartition(i, replicas(i, there)) for i in range(partitions)]
    connection = RawConnection(bootstrap)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(BIG, rows)])
    answer = connection.ask(request, 1)
    connection.close()
    assert {row.error_code for each in answer.responses for row in each.partitions} == {0}, answer


def move(bootstrap: str, partitions: int, there: bool) -> None:
    """Move the followers of the big topic, and wait until no reassignment is listed."""
    submit(bootstrap, partitions, there)
    watching = RawConnection(bootstrap)
    wait_until(lambda: not listed(watching), lambda: "a move to end", 0.05, MOVE_SECONDS)
    watching.close()


@contextmanager
def probing(at: Site, rate: float) -> Iterator[Callable[[], dict[str, list[Sample]]]]:
    """Run the probe. The function that is yielded ends it, and returns the samples."""
    output = Path(tempfile.mkdtemp()) / "samples.json"
    plan = {
        "output": str(output),
        "brokers": [at.kafka.address(broker) for broker in at.kafka.brokers],
        "relayed": [at.relayed(broker) for broker in at.kafka.brokers],
        "topic": LOADED,
        "partitions": LOADED_PARTITIONS,
        "canary": CANARY,
        "rate": rate,
        "size": 1000,
    }
    probe = subprocess.Popen(
        [sys.executable, "-m", "bench.pace_probe"],
        stdin=subprocess.PIPE,
        text=True,
    )
    assert probe.stdin is not None
    probe.stdin.write(json.dumps(plan) + "\n")
    probe.stdin.flush()

    def collect() -> dict[str, list[Sample]]:
        probe.communicate()
        found = json.loads(output.read_text())
        assert not found["failures"], found["failures"]
        return dict(found["samples"])

    try:
        yield collect
    finally:
        if probe.poll() is None:
            probe.kill()
            probe.communicate()
        shutil.rmtree(output.parent)


def measured(at: Site, mode: Mode, there: bool, options: argparse.Namespace) -> Run:
    """Move once in this mode, between two idle phases."""
    configure(at.gateway.bootstrap, 4, "", dict(mode.configs))
    if mode.throttle:
        at.throttle(mode.throttle)
    place = at.gateway.bootstrap if mode.gateway else at.kafka.bootstrap
    with probing(at, options.rate / BROKERS) as collect:
        zero = time.monotonic()
        time.sleep(options.idle)
        began, busy = time.monotonic(), busy_seconds()
        if mode.moves:
            move(place, options.partitions, there)
        else:
            time.sleep(options.idle)
        ended, busy = time.monotonic(), busy_seconds() - busy
        time.sleep(options.idle / 2)
        samples = collect()
    configure(at.gateway.bootstrap, 4, "", dict.fromkeys(mode.configs))
    if mode.throttle:
        at.throttle(None)
    moved = {name: [(t - zero, broker, value) for t, broker, value in rows] for name, rows in samples.items()}
    return Run(mode.name, began - zero, ended - zero, moved, busy / (ended - began))


def busy_seconds() -> float:
    """Return the time that the cores of this machine have worked since its start."""
    user, nice, system, _, _, interrupts, more = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupts + more) / sysconf("SC_CLK_TCK")


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile; 0 without values."""
    if len(values) < 2:
        return values[0] if values else 0.0
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def during(rows: Iterable[Sample], begin: float, end: float) -> list[float]:
    """Return the values of the samples in this time."""
    return [value for t, _, value in rows if begin <= t < end]


def by_second(rows: Iterable[Sample], percent: int) -> dict[tuple[int, int], float]:
    """Return a percentile by second and broker."""
    groups = defaultdict(list)
    for t, broker, value in rows:
        groups[int(t), broker].append(value)
    return {key: percentile(values, percent) for key, values in groups.items()}


def ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks, ties with their mean."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, first = [0.0] * len(values), 0
    for position, index in enumerate(order):
        if values[index] != values[order[first]]:
            first = position
        found[index] = float(first)
    return found


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Spearman's rank correlation; 0 if a side is constant."""
    first, second = (ranks(side) for side in zip(*pairs, strict=True)) if pairs else ([], [])
    if len(set(first)) < 2 or len(set(second)) < 2:
        return 0.0
    a, b = sum(first) / len(first), sum(second) / len(second)
    up = sum((x - a) * (y - b) for x, y in zip(first, second, strict=True))
    down = sum((x - a) ** 2 for x in first) * sum((y - b) ** 2 for y in second)
    return float(up / down**0.5)


def correlations(runs: Sequence[Run], signal: str) -> dict[int, float]:
    """Return the correlation of a signal with the producers' p99 of its broker, by the signal's lead in s."""
    found = {}
    for ahead in (0, 1, 2):
        pairs = []
        for run in runs:
            producers = by_second(run.samples["producer"], 99)
            signals = by_second(run.samples.get(signal, ()), 75)
            for (second, broker), value in producers.items():
                key = (second - ahead, 0 if signal == "isr" else broker)
                if key in signals:
                    pairs.append((signals[key], value))
        found[ahead] = correlation(pairs)
    return found


def caught(runs: Sequence[Run], signal: str) -> tuple[float, float]:
    """Return how many of the slow seconds the signal shows, and how many of its alarms are right.

    A second is slow when the producers' p99 at a broker exceeds FACTOR times the idle one. The signal shows
    it when its p75 exceeds FACTOR times its own idle p75.
    """
    hits = misses = false = 0
    for run in runs:
        producers, signals = (
            by_second(run.samples.get(name, ()), p) for name, p in (("producer", 99), (signal, 75))
        )
        slow, raised = (
            FACTOR * percentile(during(run.samples.get(name, ()), 1, run.began), p)
            for name, p in (("producer", 99), (signal, 75))
        )
        for (second, broker), value in producers.items():
            key = (second, 0 if signal == "isr" else broker)
            if second < run.began or second > run.ended or key not in signals:
                continue
            shows, is_slow = signals[key] > raised, value > slow
            hits += shows and is_slow
            misses += is_slow and not shows
            false += shows and not is_slow
    return hits / (hits + misses or 1), hits / (hits + false or 1)


def figures(run: Run) -> dict[str, Any]:
    """Return the figures of a run."""
    rows = run.samples["producer"]
    idle, moving = during(rows, 1, run.began), during(rows, run.began, run.ended)
    return {
        "mode": run.mode,
        "seconds": run.ended - run.began,
        "idle p50": percentile(idle, 50),
        "idle p99": percentile(idle, 99),
        "p50": percentile(moving, 50),
        "p99": percentile(moving, 99),
        "max": max(moving, default=0.0),
        "p99 / idle": percentile(moving, 99) / (percentile(idle, 99) or 1),
        "cores": run.cores,
    }


def report(runs: Sequence[Run], earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Print the tables; return their content. `earlier` are figures of earlier runs for the first table."""
    rows = [*earlier, *map(figures, runs)]
    by_mode: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_mode[row["mode"]].append(row)
    columns = ("seconds", "idle p50", "idle p99", "p50", "p99", "max", "p99 / idle", "cores")
    print(f"\n| mode | runs | {' | '.join(columns)} |\n" + "|---" * (len(columns) + 2) + "|")
    table = []
    for mode, each in by_mode.items():
        middle = {name: median(row[name] for row in each) for name in columns}
        table.append({"mode": mode, "runs": len(each), **middle})
        print(f"| {mode} | {len(each)} | " + " | ".join(f"{middle[name]:.1f}" for name in columns) + " |")
    print("\n| signal | same second | 1 s ahead | 2 s ahead | slow seconds shown | alarms right |")
    print("|---" * 6 + "|")
    signals = {}
    for signal in SIGNALS:
        ahead, (shown, right) = correlations(runs, signal), caught(runs, signal)
        signals[signal] = {"correlation": ahead, "shown": shown, "right": right}
        print(
            f"| {signal} | {ahead[0]:.2f} | {ahead[1]:.2f} | {ahead[2]:.2f} | {shown:.0%} | {right:.0%} |",
            flush=True,
        )
    return {"modes": table, "signals": signals, "runs": rows}


def draw(runs: Sequence[Run], found: Mapping[str, Any], folder: Path) -> None:
    """Write the plots: one over time for each mode, and one of latency against duration."""
    last = {run.mode: run for run in runs}
    for number, (mode, run) in enumerate(last.items()):
        series = {}
        for signal, percent in (("producer", 99), ("canary", 75), ("trip", 75)):
            seconds = by_second(((t, 0, value) for t, _, value in run.samples.get(signal, ())), percent)
            series[f"{signal} p{percent}"] = sorted((float(s), value) for (s, _), value in seconds.items())
        target = FACTOR * figures(run)["idle p99"]
        title = f"{mode}: the move lasts from {run.began:.0f} to {run.ended:.0f} s"
        text = plot(title, "s", "ms", series, level=(f"{FACTOR} × idle p99", target))
        (folder / f"pace-{number}.svg").write_text(text)
    points = {row["mode"]: [(row["seconds"], max(row["p99"], 0.1))] for row in found["modes"]}
    text = plot("Producers' p99 against the time of the move", "s", "ms", points, lines=False)
    (folder / "pace-modes.svg").write_text(text)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m bench.pace", description=__doc__)
    options.add_argument("--runs", type=int, default=5, help="moves in each mode")
    options.add_argument("--partitions", type=int, default=100)
    options.add_argument("--megabytes", type=int, default=25, help="size of a partition")
    options.add_argument("--rate", type=float, default=200, help="records of 1 KB per second, all brokers")
    options.add_argument("--idle", type=float, default=10, help="seconds of measurement before each move")
    options.add_argument("--settle", type=float, default=20, help="seconds of load before the first run")
    options.add_argument(
        "--network",
        type=float,
        help="MB/s that each broker may send; needs root and `tc` (default: no limit)",
    )
    options.add_argument(
        "--warm", type=int, default=3, help="moves at once before, so that JVMs have compiled"
    )
    options.add_argument(
        "--only", action="append", help="part of the name of a mode to measure; can be repeated"
    )
    options.add_argument("--folder", type=Path, default=Path("pace-results"))
    options.add_argument("--add", type=Path, action="append", help="a `pace.json` whose runs count too")
    return options.parse_args()


def measure(options: argparse.Namespace, modes: Sequence[Mode]) -> tuple[list[Run], list[float]]:
    """Measure all modes in turn, as often as asked for. Return the runs, and the loads of the machine."""
    loads, runs, there = [getloadavg()[0]], [], True
    with ExitStack() as stack:
        at = stack.enter_context(
            site(FULL_SPEED | (fetch_settings(options.network) if options.network else {}))
        )
        create(at, LOADED, [loaded_replicas(i) for i in range(LOADED_PARTITIONS)])
        for topic, count in ((CANARY, BROKERS), (BIG, options.partitions)):
            create(at, topic, [replicas(i, False) for i in range(count)])
        every: dict[str, str | None] = {
            f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")
        }
        configure(at.kafka.bootstrap, 2, BIG, every)
        records = options.partitions * options.megabytes * 100
        load(at.kafka.bootstrap, BIG, records, RECORD_BYTES).communicate()
        gateway = RawConnection(at.gateway.bootstrap)
        with probing(at, options.rate / BROKERS) as collect:
            for _ in range(options.warm):
                move(at.gateway.bootstrap, options.partitions, there)
                there = not there
            time.sleep(options.settle)
            collect()
        if options.network:
            ports = [int(at.kafka.address(broker).rpartition(":")[2]) for broker in at.kafka.brokers]
            stack.enter_context(limited(ports, options.network))
        for turn in range(options.runs):
            for mode in modes:
                run = measured(at, mode, there, options)
                there ^= mode.moves
                wait_until(lambda: not listed(gateway), lambda: "the gateway to see the end", 0.1)
                row = figures(run)
                print(
                    f"run {turn + 1}, {mode.name}: {row['seconds']:.1f} s, p99 {row['p99']:.1f} ms",
                    flush=True,
                )
                runs.append(run)
                loads.append(getloadavg()[0])
    return runs, loads


def main() -> None:
    """Measure, print and write."""
    options = _options()
    modes = [mode for mode in MODES if any(part in mode.name for part in options.only or [""])]
    options.folder.mkdir(exist_ok=True)
    runs, loads = measure(options, modes)
    earlier = [row for path in options.add or () for row in json.loads(path.read_text())["runs"]]
    found = report(runs, earlier)
    found["load"] = loads
    found["options"] = {name: str(value) for name, value in vars(options).items()}
    (options.folder / "pace.json").write_text(json.dumps(found, indent=1))
    draw(runs, found, options.folder)
    print(f"\nLoad of the machine: {min(loads):.1f} to {max(loads):.1f}. Written: {options.folder}/")


if __name__ == "__main__":
    main()
