"""Duration of a batched plan, compared with the minimum under its limits.

`python -m bench.batched_plans [--partitions N]`.

On the embedded cluster each partition of a topic moves one replica to another broker, in random order. The
minimum is the plan's bytes divided by the bandwidth under the limits: P partitions at a time, each at most at
the rate of a broker's network. In an even plan all brokers send and receive the same number of bytes.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle, islice, permutations, product
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import httpx

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
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

BROKERS = 6
PARTITION_BYTES = 5 * 2**19
NETWORK = 5 * 2**20
"""Bytes a second of each broker, each way: one partition takes half a second."""

RUNS: tuple[dict[str, int], ...] = ({"P": 6, "B": 2}, {"P": 12, "B": 3}, {"P": 24, "B": 6})
SHARE = 0.9
POLL_SECONDS = 0.02
TOPIC = "batched"


class Move(NamedTuple):
    """The second of two replicas moves to another broker.

    The new replica copies from the first one, the leader.
    """

    leader: int
    removed: int
    added: int


def any_moves(partitions: int, rng: random.Random) -> list[Move]:
    """Return moves of random brokers."""
    return [Move(*rng.sample(range(1, BROKERS + 1), 3)) for _ in range(partitions)]


def even_moves(partitions: int, rng: random.Random) -> list[Move]:
    """Return each possible move equally often, if `partitions` is a multiple of 120."""
    possible = [Move(*brokers) for brokers in permutations(range(1, BROKERS + 1), 3)]
    moves = list(islice(cycle(possible), partitions))
    rng.shuffle(moves)
    return moves


PLANS = {"even": even_moves, "any": any_moves}


def ideal_seconds(moves: Sequence[Move], limit: int) -> float:
    """Return the minimum duration.

    Of all moves under the limit, or of the broker with most bytes if that is longer.
    """
    sent, received = (
        max(Counter(brokers).values()) for brokers in ([m.leader for m in moves], [m.added for m in moves])
    )
    return max(len(moves) / min(limit, BROKERS), sent, received) * PARTITION_BYTES / NETWORK


def measure(moves: Sequence[Move], limits: Mapping[str, int], folder: Path) -> float:
    """Return the wall-clock seconds from the request to the end of the last reassignment."""
    settings = {
        "embedded.partition.bytes": str(PARTITION_BYTES),
        "embedded.network.bytes.per.second": str(NETWORK),
        "embedded.tick.ms": "10",
        "log.level": "WARN",
    }
    server = Reassignd(folder, settings, BROKERS)
    server.start()
    try:
        connection = RawConnection(server.bootstrap)
        rows = [CreatableReplicaAssignment(n, (m.leader, m.removed)) for n, m in enumerate(moves)]
        (created,) = connection.ask(CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)]), 7).topics
        assert created.error_code == 0, created.error_message
        set_limits(server, limits)
        connection.wait_until_calm()
        begun = perf_counter()
        wanted = [ReassignablePartition(n, (m.leader, m.added)) for n, m in enumerate(moves)]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, wanted)])
        assert connection.ask(request, 1).error_code == 0
        while ongoing(server):
            sleep(POLL_SECONDS)
        return perf_counter() - begun
    finally:
        server.kill()


def set_limits(server: Reassignd, limits: Mapping[str, int]) -> None:
    """Set limits by their short names."""
    httpx.put(f"http://{server.http}/v1/limits", json=limits).raise_for_status()


def ongoing(server: Reassignd) -> int:
    """Return the number of reassignments that have not ended."""
    status: Any = httpx.get(f"http://{server.http}/v1/status", timeout=60).json()
    return int(status["reassignments"]["ongoing"])


def main() -> int:
    """Print the table. Return 1 if a plan took too long."""
    parser = argparse.ArgumentParser(prog="python -m bench.batched_plans", description=__doc__)
    parser.add_argument("--partitions", type=int, default=480)
    parser.add_argument("--seed", type=int, default=435)
    parser.add_argument("--plans", default="even,any")
    options = parser.parse_args()
    print(
        "| plan | limits | partitions | ideal, s | measured, s | share | wanted"
        " |\n|---|---|---|---|---|---|---|"
    )
    passed = True
    for plan, limits in product(options.plans.split(","), RUNS):
        moves = PLANS[plan](options.partitions, random.Random(options.seed))
        with tempfile.TemporaryDirectory() as folder:
            seconds = measure(moves, limits, Path(folder))
        ideal = ideal_seconds(moves, limits["P"])
        passed &= ideal / seconds >= SHARE
        limits_text = ", ".join(f"{name}={value}" for name, value in limits.items())
        print(f"| {plan} | {limits_text} | {len(moves)} | {ideal:.1f} | {seconds:.1f} ", end="")
        print(f"| {ideal / seconds:.0%} | ≥ {SHARE:.0%} |", flush=True)
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
