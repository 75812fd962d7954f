"""The partitions of a cluster as columns, so that numpy can work on millions of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from controller.scheduling.steps import Replicas
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.columns import Columns
from planner.snapshot import TOPIC_PARTITION, Broker


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
    cluster: Mapping[int, Broker], columns: Columns, factor: int | None, topics: Callable[[str], bool]
) -> tuple[Table, list[tuple[int, str]]]:
    """Return the table, and (row, reason) of the partitions of the chosen topics that cannot be changed now."""
    brokers, replicas = _lists(sorted(cluster), columns)
    chosen = np.fromiter(map(topics, columns.topics), np.bool_, len(columns.topics))[columns.topic]
    left_out = [(row, why) for row, why in _obstacles(cluster, columns, brokers, replicas) if chosen[row]]
    free = chosen.copy()
    free[[row for row, _ in left_out]] = False
    lengths = columns.lengths
    factors = lengths if factor is None else np.where(chosen, np.int32(factor), lengths)
    table = Table(
        brokers, columns.topics, columns.topic, columns.partition, replicas, factors, columns.bytes, free
    )
    return table, left_out


def _lists(known: list[int], columns: Columns) -> tuple[Ints, Ints]:
    """Return the ids of all brokers, and the padded lists of their positions."""
    ids, lengths = columns.ids, columns.lengths
    unknown = np.setdiff1d(ids, np.array(known, np.int64))
    brokers = np.concatenate([np.array(known, np.int64), unknown])
    by_id = np.argsort(brokers, kind="stable")
    positions = by_id[np.searchsorted(brokers, ids, sorter=by_id)].astype(np.int32)
    replicas = np.full((len(lengths), int(lengths.max(initial=1))), -1, np.int32)
    replicas[np.arange(replicas.shape[1]) < lengths[:, None]] = positions
    return brokers, replicas


def _obstacles(
    cluster: Mapping[int, Broker], columns: Columns, brokers: Ints, replicas: Ints
) -> list[tuple[int, str]]:
    live = np.array(
        [*(broker in cluster and cluster[broker].live for broker in brokers.tolist()), False], np.bool_
    )
    found = {}
    for row in np.flatnonzero(~live[replicas].any(axis=1)).tolist():
        slots = replicas[row]
        ids = ", ".join(map(str, brokers[slots[slots >= 0]].tolist()))
        found[row] = f"all replicas are offline ({ids})"
    found |= dict.fromkeys(np.flatnonzero(columns.moving).tolist(), "being reassigned")
    return sorted(found.items())
