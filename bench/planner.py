"""The planner in Python and on Spark: `python -m bench.planner [--partitions N] [--brokers N] [--rows N]`.

Every partition moves to three other brokers. Times are wall-clock seconds on local[2], the best of several
runs after a warm-up. First the next steps of random partitions, with offline brokers and lagging replicas,
are compared between Spark and Python; `--rows 0` skips the comparison.
"""

import argparse
import random
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from controller.model.limits import UNLIMITED, PlanLimits
from controller.scheduling.steps import next_step
from planner.model.snapshot import Broker, Partition, Snapshot
from planner.model.step_table import Move
from planner.plan import make_plan, moves_of
from planner.spark import MOVES, moves_frame, next_steps, running, schedule_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLICAS = 3
SIZE = 10**9
LIMITS = PlanLimits(per_partition=1, partitions=200, leaders=50, per_broker=20)
BANDWIDTH = 100 * 1024 * 1024

NEXT_STEP_SECONDS, PLAN_SECONDS, INLINE_MICROSECONDS = 5.0, 60.0, 10.0


def cluster(partitions: int, brokers: int) -> Snapshot:
    """Return a cluster with all brokers live and all replicas in sync and evenly distributed."""
    lists = [tuple((number + each) % brokers for each in range(REPLICAS)) for number in range(partitions)]
    rows = (
        Partition(f"topic-{number // 100}", number % 100, replicas, replicas, replicas[0], SIZE, 2)
        for number, replicas in enumerate(lists)
    )
    return Snapshot({each: Broker(each) for each in range(brokers)}, {row[:2]: row for row in rows})


def random_moves(count: int, rng: random.Random) -> list[Move]:
    """Return moves with random replicas, targets, ISR, min ISR and leaders."""
    moves = []
    for _ in range(count):
        current, target = (tuple(rng.sample(range(12), rng.randint(1, 6))) for _ in range(2))
        isr = tuple(broker for broker in current if rng.random() < 0.8)
        moves.append(Move("orders", 0, current, target, isr, rng.choice(current), rng.randint(1, 4)))
    return moves


def differing(spark: "SparkSession", count: int) -> int:
    """Return for how many of `count` random partitions Spark and Python compute different next steps."""
    rng = random.Random(435)
    moves = random_moves(count, rng)
    offline = [[broker for broker in range(12) if rng.random() < 0.15] for _ in moves]
    limits = [rng.choice((1, 2, 3, UNLIMITED)) for _ in moves]
    own = {"id": range(count), "offline": pa.array(offline, pa.list_(pa.int32())), "max_step": limits}
    frame = (
        moves_frame(spark, moves, ())
        .drop("offline", "max_step")
        .join(spark.createDataFrame(pa.table(own)), "id")
    )
    steps = next_steps(frame.select(*MOVES)).toArrow().sort_by("id")["next"].to_pylist()
    expected = (
        next_step(
            move.current,
            move.target,
            isr=move.isr,
            live={*range(12)}.difference(gone),
            leader=move.leader,
            original=move.current,
            min_isr=move.min_isr,
            limit=limit,
        )
        for move, gone, limit in zip(moves, offline, limits, strict=True)
    )
    return sum((each and list(each)) != step for each, step in zip(expected, steps, strict=True))


def best(runs: int, work: Callable[[], object]) -> float:
    """Return the wall-clock seconds of the fastest run."""
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def inline_microseconds(moves: list[Move], brokers: int) -> float:
    """Return the microseconds per step, over all partitions."""
    live = set(range(brokers))

    def work() -> None:
        rule = partial(next_step, live=live, limit=1)
        for _, _, now, target, isr, leader, min_isr, *_ in moves:
            rule(now, target, isr=isr, leader=leader, original=now, min_isr=min_isr)

    return best(3, work) / len(moves) * 1e6


def report(name: str, value: float, unit: str, target: float) -> bool:
    """Print one line. Return whether the target is reached."""
    passed = value <= target
    print(f"{name:44} {value:8.2f} {unit:3} (at most {target:g}){'' if passed else '  MISSED'}", flush=True)
    return passed


def main() -> int:
    """Print the numbers. Return 1 if Spark and Python differ or a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in {"--partitions": 1_000_000, "--brokers": 100, "--rows": 100_000}.items():
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    snapshot = cluster(options.partitions, options.brokers)
    shift = 3 * REPLICAS
    targets = [
        (key, tuple((broker + shift) % options.brokers for broker in partition.replicas))
        for key, partition in snapshot.partitions.items()
    ]
    moves = moves_of(targets, snapshot)
    kept = [
        report(
            "inline, one step",
            inline_microseconds(moves[:50_000], options.brokers),
            "µs",
            INLINE_MICROSECONDS,
        )
    ]
    with running("local[2]") as spark:
        different = differing(spark, options.rows) if options.rows else 0
        print(f"{f'{options.rows:,} random next steps that differ':44} {different:8}", flush=True)
        frame = moves_frame(spark, moves, (), LIMITS.step).localCheckpoint()
        to_arrow: Any = next_steps(frame).select("id", "next").toArrow
        kept.append(report("next step of all, to Arrow, warm", best(3, to_arrow), "s", NEXT_STEP_SECONDS))
        whole = best(1, lambda: make_plan(moves, snapshot, LIMITS, BANDWIDTH, schedule_of(spark)))
        kept.append(report("whole plan with waves and forecast", whole, "s", PLAN_SECONDS))
    return int(different > 0 or not all(kept))


if __name__ == "__main__":
    sys.exit(main())
