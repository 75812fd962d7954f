"""Random clusters with several topics."""

import random

from planner.model.snapshot import Broker, Partition, Snapshot


def random_cluster(seed: int, *, brokers: int = 8, partitions: int = 60) -> Snapshot:
    """Return a cluster in three racks, with one to three replicas and very different sizes."""
    rng = random.Random(seed)
    rows = {}
    for number in range(partitions):
        replicas = tuple(rng.sample(range(1, brokers + 1), rng.randint(1, 3)))
        topic, position = f"topic-{number % 7}", number // 7
        rows[topic, position] = Partition(
            topic, position, replicas, replicas[:1], replicas[0], int(10 ** rng.uniform(0, 9))
        )
    nodes = {each: Broker(each, f"rack-{each % 3}") for each in range(1, brokers + 1)}
    return Snapshot(nodes, rows, "some-id")


def shuffled(snapshot: Snapshot, seed: int) -> Snapshot:
    """Return the same cluster with its partitions in another order."""
    rows = list(snapshot.partitions.items())
    random.Random(seed).shuffle(rows)
    return snapshot._replace(partitions=dict(rows))
