"""Clusters for `bench.proposals`, made from a seed.

Three racks, topics of very different sizes, bytes that differ by topic and by partition. 70 % of the topics
were created when a fifth of the brokers was missing, by Kafka's old assigner, so replicas, leaders and bytes
are uneven.
"""

import random
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from planner.model.snapshot import Broker, Partition, Snapshot

RACKS = ("rack-a", "rack-b", "rack-c")
"""Assigned in turn, as in an embedded cluster."""
OLD_SHARE = 0.7


class Shape(NamedTuple):
    """Size of a cluster.

    `added` brokers hold nothing yet; without `by_rack`, replicas were placed regardless of racks.
    """

    partitions: int
    brokers: int
    added: int = 0
    factor: int = 3
    by_rack: bool = True


def make(shape: Shape, seed: int = 1) -> Snapshot:
    """Return a cluster. Brokers have ids from 1; the added ones come last."""
    rng = random.Random(seed)
    brokers = {
        number: Broker(number, RACKS[(number - 1) % len(RACKS)])
        for number in range(1, shape.brokers + shape.added + 1)
    }
    present = list(range(1, shape.brokers + 1))
    old = present[: max(len(RACKS) * 2, len(present) - len(present) // 5)]
    partitions: dict[tuple[str, int], Partition] = {}
    while len(partitions) < shape.partitions:
        left = shape.partitions - len(partitions)
        count = min(left, int(rng.paretovariate(0.8)), max(1, shape.partitions // 20))
        pool = old if rng.random() < OLD_SHARE else present
        name = f"topic-{len(partitions):07}"
        size = 10 ** rng.uniform(7, 9)
        for number, replicas in enumerate(_assigned(rng, pool, count, shape)):
            bytes_ = int(size * rng.paretovariate(2.5))
            partitions[name, number] = Partition(name, number, replicas, replicas, replicas[0], bytes_)
    return Snapshot(brokers, partitions)


def _assigned(rng: random.Random, pool: Sequence[int], count: int, shape: Shape) -> list[tuple[int, ...]]:
    """Place a topic as AdminUtils does: round robin, followers at a distance that grows after each round."""
    racks = len(RACKS) if shape.by_rack else 1
    lists = [[broker for broker in pool if broker % racks == rack] for rack in range(racks)]
    for each in lists:
        rng.shuffle(each)
    order = [broker for group in zip_longest(*lists) for broker in group if broker is not None]
    start, shift = rng.randrange(len(order)), rng.randrange(len(order))
    return [_replicas(order, start + number, shift + number // len(order), shape) for number in range(count)]


def _replicas(order: Sequence[int], first: int, shift: int, shape: Shape) -> tuple[int, ...]:
    chosen = [order[first % len(order)]]
    step = 0
    while len(chosen) < shape.factor:
        step += 1
        broker = order[(first + shift + step) % len(order)]
        racks = (
            {each % len(RACKS) for each in chosen} if shape.by_rack and shape.factor <= len(RACKS) else set()
        )
        if broker not in chosen and broker % len(RACKS) not in racks:
            chosen.append(broker)
    return tuple(chosen)
