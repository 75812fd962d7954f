"""The partitions of a cluster as columns, so that numpy can work on millions of them."""

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain, islice
from operator import attrgetter, itemgetter, le
from typing import NamedTuple

import numpy as np

from controller.scheduling.steps import Replicas
from planner.proposals.problem.arrays import Flags, Ints
from planner.snapshot import TOPIC_PARTITION, Partition, Snapshot


class Table(NamedTuple):
    """Partitions in order of topic and partition. Brokers are numbered by their position in `brokers`."""

    brokers: Ints
    """Ids: the brokers of the cluster in order, then those that only occur in replica lists."""
    topics: Sequence[str]
    topic: Ints
    """Position in `topics`."""
    partition: Ints
    replicas: Ints
    """A row for each partition, padded with -1; the preferred leader is first."""
    factor: Ints
    """Wanted replication factor."""
    bytes: Ints
    """Size of one replica."""
    free: Flags
    """Whether the partition may change."""

    @property
    def size(self) -> int:
        """Number of partitions."""
        return len(self.partition)

    def name(self, row: int) -> TOPIC_PARTITION:
        """Return the topic and partition of a row."""
        return self.topics[self.topic[row]], int(self.partition[row])

    def list_of(self, row: int) -> Replicas:
        """Return the replica list of a row."""
        slots = self.replicas[row]
        return tuple(self.brokers[slots[slots >= 0]].tolist())

    def after(self, sets: Ints) -> "Table":
        """Return the table with these replicas of the partitions that may change, padded with -1."""
        width = max(self.replicas.shape[1], sets.shape[1])
        replicas = np.full((self.size, width), -1, self.replicas.dtype)
        replicas[:, : self.replicas.shape[1]] = self.replicas
        replicas[self.free] = -1
        replicas[self.free, : sets.shape[1]] = sets
        return self._replace(replicas=replicas)

    def counts(self, rows: Flags) -> Ints:
        """Return the number of replicas of each broker in these rows."""
        return _per_broker(self.replicas[rows], None, len(self.brokers))

    def sizes(self, rows: Flags) -> Ints:
        """Return the bytes of each broker in these rows."""
        return _per_broker(self.replicas[rows], self.bytes[rows], len(self.brokers))


def per_broker(lists: Ints, weights: Ints | None, brokers: int) -> Ints:
    """Sum the weights of the rows (1 if None) on each broker of their lists."""
    return _per_broker(lists, weights, brokers)


def _per_broker(lists: Ints, weights: Ints | None, brokers: int) -> Ints:
    totals = np.zeros(brokers + 1, np.int64)
    for slot in lists.T:
        if weights is None:
            totals += np.bincount(slot + 1, minlength=brokers + 1)
        else:
            np.add.at(totals, slot + 1, weights)
    return totals[1:]


def table_of(
    snapshot: Snapshot,
    factor: int | None,
    topics: Callable[[str], bool],
    moving: Container[TOPIC_PARTITION],
) -> tuple[Table, list[tuple[int, str]]]:
    """Return the table, and (row, reason) of the partitions of the chosen topics that cannot be changed now."""
    rows = _in_order(snapshot)
    lengths = np.fromiter((len(row.replicas) for row in rows), np.int32, len(rows))
    brokers, replicas = _lists(sorted(snapshot.brokers), rows, lengths)
    names = list(dict.fromkeys(map(itemgetter(0), rows)))
    position = {name: number for number, name in enumerate(names)}
    topic = np.fromiter((position[row[0]] for row in rows), np.int32, len(rows))
    chosen = np.fromiter(map(topics, names), np.bool_, len(names))[topic]
    obstacles = _obstacles(snapshot, rows, brokers, replicas, moving)
    left_out = [(row, reason) for row, reason in obstacles if chosen[row]]
    free = chosen.copy()
    free[[row for row, _ in left_out]] = False
    table = Table(
        brokers,
        names,
        topic,
        np.fromiter(map(itemgetter(1), rows), np.int32, len(rows)),
        replicas,
        lengths if factor is None else np.where(chosen, np.int32(factor), lengths),
        np.fromiter(map(attrgetter("bytes"), rows), np.int64, len(rows)),
        free,
    )
    return table, left_out


def _in_order(snapshot: Snapshot) -> list[Partition]:
    keys = list(snapshot.partitions)
    if all(map(le, keys, islice(keys, 1, None))):
        return list(snapshot.partitions.values())
    return [snapshot.partitions[key] for key in sorted(keys)]


def _lists(known: list[int], rows: Iterable[Partition], lengths: Ints) -> tuple[Ints, Ints]:
    """Return the ids of all brokers, and the padded lists of their positions."""
    ids = np.fromiter(chain.from_iterable(row.replicas for row in rows), np.int64, int(lengths.sum()))
    occurring = np.unique(ids)
    unknown = np.setdiff1d(occurring, np.array(known, np.int64))
    brokers = np.concatenate([np.array(known, np.int64), unknown])
    by_id = np.argsort(brokers, kind="stable")
    positions = by_id[np.searchsorted(brokers, ids, sorter=by_id)].astype(np.int32)
    replicas = np.full((len(lengths), int(lengths.max(initial=1))), -1, np.int32)
    replicas[np.arange(replicas.shape[1]) < lengths[:, None]] = positions
    return brokers, replicas


def _obstacles(
    snapshot: Snapshot,
    rows: Sequence[Partition],
    brokers: Ints,
    replicas: Ints,
    moving: Container[TOPIC_PARTITION],
) -> list[tuple[int, str]]:
    live = np.array(
        [
            *(broker in snapshot.brokers and snapshot.brokers[broker].live for broker in brokers.tolist()),
            False,
        ]
    )
    offline = np.flatnonzero(~live[replicas].any(axis=1)).tolist()
    found = {row: f"all replicas are offline ({', '.join(map(str, rows[row].replicas))})" for row in offline}
    for number, row in enumerate(rows):
        if getattr(row, "moving", False) or row[:2] in moving:
            found[number] = "being reassigned"
    return sorted(found.items())
