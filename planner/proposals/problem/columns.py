"""The partitions of a cluster as columns, in order of topic and partition: what readers of snapshots deliver."""

from collections.abc import Container, Sequence
from itertools import accumulate, chain, islice
from operator import attrgetter, itemgetter, le
from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints
from planner.snapshot import TOPIC_PARTITION, Partition, Snapshot


class Columns(NamedTuple):
    """A row for each partition, without numbers that are missing in a topic or occur twice."""

    topics: Sequence[str]
    """Names in order."""
    topic: Ints
    """Position in `topics`."""
    partition: Ints
    lengths: Ints
    """Number of replicas."""
    ids: Ints
    """Broker ids of the replicas of the first partition, then of the second one, …"""
    in_isr: Flags
    """Whether each of these replicas is in the ISR."""
    bytes: Ints
    """Size of one replica."""
    min_isr: Ints
    """`min.insync.replicas` of the topic."""
    moving: Flags
    """Whether the partition is being reassigned or queued."""

    def name(self, row: int) -> TOPIC_PARTITION:
        """Return the topic and partition of a row."""
        return self.topics[self.topic[row]], int(self.partition[row])


def columns_of(snapshot: Snapshot, moving: Container[TOPIC_PARTITION]) -> Columns:
    """Return the columns of a snapshot in memory; `moving` partitions are being reassigned."""
    rows = _in_order(snapshot)
    lengths = np.fromiter((len(row.replicas) for row in rows), np.int32, len(rows))
    names = list(dict.fromkeys(map(itemgetter(0), rows)))
    position = {name: number for number, name in enumerate(names)}
    return Columns(
        names,
        np.fromiter((position[row[0]] for row in rows), np.int32, len(rows)),
        np.fromiter(map(itemgetter(1), rows), np.int32, len(rows)),
        lengths,
        np.fromiter(chain.from_iterable(row.replicas for row in rows), np.int32, int(lengths.sum())),
        _in_isr(rows, int(lengths.sum())),
        np.fromiter(map(attrgetter("size"), rows), np.int64, len(rows)),
        np.fromiter(map(attrgetter("min_isr"), rows), np.int32, len(rows)),
        np.fromiter((row[:2] in moving for row in rows), np.bool_, len(rows)),
    )


def _in_isr(rows: Sequence[Partition], replicas: int) -> Flags:
    flags = np.ones(replicas, np.bool_)
    starts = accumulate((len(row.replicas) for row in rows), initial=0)
    for row, start in zip(rows, starts, strict=False):
        if row.isr != row.replicas:
            flags[start : start + len(row.replicas)] = [each in row.isr for each in row.replicas]
    return flags


def _in_order(snapshot: Snapshot) -> list[Partition]:
    keys = list(snapshot.partitions)
    if all(map(le, keys, islice(keys, 1, None))):
        return list(snapshot.partitions.values())
    return [snapshot.partitions[key] for key in sorted(keys)]
