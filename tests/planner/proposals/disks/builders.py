"""Small brokers with several log directories."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from planner.disk_proposing import propose_disks, read_disk_goal
from planner.model.snapshot import Broker, LogDir, Partition, Snapshot, packed
from planner.proposals.disks.result import DiskProposal

GIB = 2**30
Dirs = Mapping[str, Sequence[int]]
"""The sizes of the replicas in each directory."""


def disks(total: int = 100, **dirs: Sequence[int]) -> Snapshot:
    """Return a cluster whose broker 1 has the directories /a, /b, …, given as `a=[sizes]`.

    The partitions are foo-0, foo-1, … with one replica each. There are no other files.
    """
    numbers = count()
    rows = [(f"/{name}", size, next(numbers)) for name, sizes in dirs.items() for size in sizes]
    partitions = {
        ("foo", number): Partition(
            "foo", number, (1,), (1,), 1, size, packed_sizes=packed([size]), log_dirs=(path,)
        )
        for path, size, number in rows
    }
    known = {f"/{name}": LogDir(total, total - sum(sizes)) for name, sizes in dirs.items()}
    return Snapshot({1: Broker(1, dirs=known)}, partitions)


def with_dir(snapshot: Snapshot, path: str, **fields: Any) -> Snapshot:
    """Return the cluster with other fields of a directory of broker 1."""
    broker = snapshot.brokers[1]
    known = {**(broker.dirs or {})}
    known[path] = known.get(path, LogDir())._replace(**fields)
    return snapshot._replace(brokers={**snapshot.brokers, 1: broker._replace(dirs=known)})


def with_row(snapshot: Snapshot, number: int, **fields: Any) -> Snapshot:
    """Return the cluster with other fields of partition foo-N."""
    row = snapshot.partitions["foo", number]._replace(**fields)
    return snapshot._replace(partitions={**snapshot.partitions, ("foo", number): row})


def proposed(snapshot: Snapshot, *words: str, **options: Any) -> DiskProposal:
    """Return the moves of `propose disks`."""
    return propose_disks(snapshot, read_disk_goal(["disks", *words], options))


def moved(found: DiskProposal) -> list[tuple[int, str, str]]:
    """Return the partition, the source and the target of each move."""
    return [(each.partition, each.source, each.target) for each in found.moves]


def carried_out(snapshot: Snapshot, found: DiskProposal) -> Snapshot:
    """Return the cluster after the moves."""
    rows = dict(snapshot.partitions)
    brokers = dict(snapshot.brokers)
    for topic, number, broker, source, target, size in found.moves:
        row = rows[topic, number]
        assert row.log_dirs is not None
        log_dirs = list(row.log_dirs)
        position = row.replicas.index(broker)
        assert log_dirs[position] == source
        log_dirs[position] = target
        rows[topic, number] = row._replace(log_dirs=tuple(log_dirs))
        known = dict(brokers[broker].dirs or {})
        known[source] = known[source]._replace(usable=(known[source].usable or 0) + size)
        known[target] = known[target]._replace(usable=(known[target].usable or 0) - size)
        brokers[broker] = brokers[broker]._replace(dirs=known)
    return snapshot._replace(partitions=rows, brokers=brokers)
