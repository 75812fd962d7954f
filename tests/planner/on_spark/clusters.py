"""Random clusters with several topics."""

import random

from planner.model.snapshot import Broker, Load, LogDir, Partition, Snapshot, packed


def random_cluster(seed: int, *, brokers: int = 8, partitions: int = 60) -> Snapshot:
    """Return a cluster in three racks, with one to three replicas, and very different sizes and rates.

    Some of them are not known.
    """
    rng = random.Random(seed)
    rows = {}
    for number in range(partitions):
        replicas = tuple(rng.sample(range(1, brokers + 1), rng.randint(1, 3)))
        topic, position = f"topic-{number % 7}", number // 7
        size = int(10 ** rng.uniform(0, 9))
        own = tuple(int(size * rng.uniform(0.5, 2)) if rng.random() < 0.9 else None for _ in replicas)
        row = Partition(topic, position, replicas, replicas[:1], replicas[0], tiered=number % 7 == 2)
        if rng.random() < 0.8:
            log_dirs = tuple(None if each is None else "/data" for each in own)
            row = row._replace(packed_sizes=packed(own), log_dirs=log_dirs)
        if rng.random() < 0.8:
            rates = [rng.uniform(0, 1e6) if rng.random() < 0.8 else None for _ in Load._fields]
            row = row._replace(load=Load(*rates) if any(rates) else None)
        rows[topic, position] = row._replace(bytes=size if rng.random() < 0.9 else None)
    dirs = {"/data": LogDir(10**12, 5 * 10**11), "/other": LogDir(cordoned=True)}
    nodes = {each: Broker(each, f"rack-{each % 3}", dirs=dirs) for each in range(1, brokers + 1)}
    return Snapshot(nodes, rows, "some-id")


def shuffled(snapshot: Snapshot, seed: int) -> Snapshot:
    """Return the same cluster with its partitions in another order."""
    rows = list(snapshot.partitions.items())
    random.Random(seed).shuffle(rows)
    return snapshot._replace(partitions=dict(rows))
