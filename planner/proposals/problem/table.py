"""The partitions of a cluster as columns, so that numpy can work on millions of them.

Readers of snapshots deliver `Columns`, in order of topic and partition; the solver works on a `Table`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter, itemgetter, le
from typing import NamedTuple

import numpy as np

from controller.model.replicas import Replicas
from planner.model.snapshot import (
    LOAD_COLUMNS,
    TOPIC_PARTITION,
    UNKNOWN_SIZE,
    Broker,
    Load,
    Partition,
    Snapshot,
)
from planner.proposals.problem.arrays import Flags, Ints, Rates


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
    """Size of the leader's replica, which is what a copy has; 0 if none is known."""
    sizes: Ints
    """Size of each of the replicas of `ids`, as its own broker reports it; -1 if that is not known."""
    min_isr: Ints
    """`min.insync.replicas` of the topic."""
    tiered: Flags
    """Whether a part of the log is in remote storage."""
    moving: Flags
    """Whether the partition is being reassigned or queued."""
    leader: Ints
    """Broker id of the present leader; -1 if there is none."""
    rates: Rates | None = None
    """The columns of `Load` for each partition, not a number where it is not known; None if none is."""
    failed: Flags | None = None
    """Whether the log directory of each of the replicas of `ids` has failed; None if none has."""

    def name(self, row: int) -> TOPIC_PARTITION:
        """Return the topic and partition of a row."""
        return self.topics[self.topic[row]], int(self.partition[row])


def columns_of(snapshot: Snapshot, moving: Collection[TOPIC_PARTITION]) -> Columns:
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
        _sizes(rows, int(lengths.sum())),
        np.fromiter(map(attrgetter("min_isr"), rows), np.int32, len(rows)),
        np.fromiter(map(attrgetter("tiered"), rows), np.bool_, len(rows)),
        _moving(rows, moving),
        np.fromiter(map(attrgetter("leader"), rows), np.int32, len(rows)),
        _rates(rows),
        _failed(rows),
    )


def _moving(rows: Sequence[Partition], moving: Collection[TOPIC_PARTITION]) -> Flags:
    if not moving:
        return np.zeros(len(rows), np.bool_)
    return np.fromiter((row[:2] in moving for row in rows), np.bool_, len(rows))


def _in_isr(rows: Sequence[Partition], replicas: int) -> Flags:
    flags = np.ones(replicas, np.bool_)
    start = 0
    for row in rows:
        held = row.replicas
        if row.isr != held:
            flags[start : start + len(held)] = [each in row.isr for each in held]
        start += len(held)
    return flags


def _sizes(rows: Sequence[Partition], replicas: int) -> Ints:
    if not any(row.packed_sizes for row in rows):
        return np.full(replicas, UNKNOWN_SIZE, np.int64)
    unknown, joined = np.int64(UNKNOWN_SIZE).tobytes(), bytearray()
    for row in rows:  # `join` would need a buffer of 80 bytes for each row.
        joined += row.packed_sizes or unknown * len(row.replicas)
    return np.frombuffer(joined, np.int64)


def _rates(rows: Sequence[Partition]) -> Rates | None:
    if not any(row.load for row in rows):
        return None
    none, idle = Load(), Load(*(0.0,) * len(LOAD_COLUMNS))
    # Nobody writes to a topic that waits for its deletion.
    return np.array([idle if row.deleting else row.load or none for row in rows], np.float64)


def _failed(rows: Sequence[Partition]) -> Flags | None:
    if not any(row.failed for row in rows):
        return None
    return np.array([each in row.failed for row in rows for each in row.replicas], np.bool_)


def _in_order(snapshot: Snapshot) -> list[Partition]:
    keys = list(snapshot.partitions)
    if all(map(le, keys, islice(keys, 1, None))):
        return list(snapshot.partitions.values())
    return [snapshot.partitions[key] for key in sorted(keys)]


IN_SYNC, BEHIND, OFFLINE = range(3)
"""States of a replica: in the ISR of a live broker, on a live broker but not in the ISR, on a broker that is
not live or in a log directory that has failed."""


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
    state: Ints
    """IN_SYNC, BEHIND or OFFLINE for each replica; IN_SYNC where there is none."""
    leaves: Flags
    """Offline replicas that a plan drops, because the partition has enough live ones for its wanted
    factor."""
    factor: Ints
    """Wanted replication factor."""
    bytes: Ints
    """Size of the leader's replica, which is what a copy has."""
    own: Ints
    """Size of each of `replicas`, in the same places: what its broker reports, else that of a copy."""
    min_isr: Ints
    free: Flags
    """Whether the partition may change."""
    leader: Ints
    """The present leader; -1 if no replica leads."""
    rates: Rates | None = None
    """Those of `Columns`."""

    @property
    def size(self) -> int:
        """Number of partitions."""
        return len(self.partition)

    @property
    def led_by(self) -> Ints:
        """The present leader of each partition; the preferred one where no replica leads."""
        leaders: Ints = np.where(self.leader >= 0, self.leader, self.replicas[:, 0])
        return leaders

    def name(self, row: int) -> TOPIC_PARTITION:
        """Return the topic and partition of a row."""
        return self.topics[self.topic[row]], int(self.partition[row])

    def list_of(self, row: int) -> Replicas:
        """Return the replica list of a row."""
        slots = self.replicas[row]
        return tuple(self.brokers[slots[slots >= 0]].tolist())

    def unchanged(self, lists: Ints) -> Flags:
        """Return which of the partitions that may change keep their list; `lists` has a row for each."""
        before, added = self.replicas[self.free], lists[:, self.replicas.shape[1] :]
        same: Flags = (lists[:, : before.shape[1]] == before).all(axis=1) & (added < 0).all(axis=1)
        return same

    def after(self, sets: Ints) -> "Table":
        """Return the table with these replicas of the partitions that may change, padded with -1."""
        width = max(self.replicas.shape[1], sets.shape[1])
        replicas = np.full((self.size, width), -1, self.replicas.dtype)
        replicas[:, : self.replicas.shape[1]] = self.replicas
        replicas[self.free] = -1
        replicas[self.free, : sets.shape[1]] = sets
        padding = ((0, 0), (0, width - self.replicas.shape[1]))
        before, state = np.pad(self.replicas, padding, constant_values=-1), np.pad(self.state, padding)
        kept = replicas == before
        state = np.where(kept, state, np.int8(IN_SYNC))
        own = np.where(kept, np.pad(self.own, padding), self.bytes[:, None])
        leaves = np.zeros(replicas.shape, np.bool_)
        return self._replace(replicas=replicas, state=state, own=own, leaves=leaves)

    def counts(self, rows: Flags) -> Ints:
        """Return the number of replicas of each broker in these rows, without those that leave."""
        return per_broker(self._staying(rows), None, len(self.brokers))

    def sizes(self, rows: Flags) -> Ints:
        """Return the bytes of each broker in these rows, in the same way."""
        return per_broker(self._staying(rows), self.own[rows], len(self.brokers))

    def sums(self, rows: Flags, weights: Ints) -> Ints:
        """Return the sum of the weights of all partitions on each broker in these rows, in the same way."""
        return per_broker(self._staying(rows), weights[rows], len(self.brokers))

    def mean_sizes(self) -> Ints:
        """Return the mean size of the replicas of each partition, rounded down."""
        there = self.replicas >= 0
        means: Ints = np.where(there, self.own, 0).sum(axis=1) // np.maximum(1, there.sum(axis=1))
        return means

    def _staying(self, rows: Flags) -> Ints:
        staying: Ints = np.where(self.leaves[rows], -1, self.replicas[rows])
        return staying


def lost(table: Table, kept: Collection[int]) -> Flags:
    """Return the offline replicas of the partitions that may change, without those on the brokers `kept`."""
    stays = np.isin(table.brokers, sorted(kept))
    flags: Flags = table.free[:, None] & (table.state == OFFLINE) & ~stays[table.replicas]
    return flags


def per_broker(lists: Ints, weights: Ints | None, brokers: int) -> Ints:
    """Sum the weights of the rows, or of each place of the lists, on each broker of the lists.

    They are 1 if None.
    """
    totals = np.zeros(brokers + 1, np.int64)
    for column, slot in enumerate(lists.T):
        if weights is None:
            totals += np.bincount(slot + 1, minlength=brokers + 1)
        else:
            np.add.at(totals, slot + 1, weights if weights.ndim == 1 else weights[:, column])
    return totals[1:]


def rows_of_topics(columns: Columns, topics: Callable[[str], bool]) -> Flags:
    """Return which rows are partitions of the chosen topics."""
    return np.fromiter(map(topics, columns.topics), np.bool_, len(columns.topics))[columns.topic]


def table_of(
    cluster: Mapping[int, Broker], columns: Columns, factors: Ints, chosen: Flags
) -> tuple[Table, list[tuple[int, str]]]:
    """Return the table, and (row, reason) of the chosen partitions that cannot be changed now.

    `factors` has the wanted factor of each partition.
    """
    brokers, replicas = _lists(sorted(cluster), columns)
    state = _states(columns, replicas, offline_in(cluster, columns))
    left_out = [(row, why) for row, why in _obstacles(columns, brokers, replicas, state) if chosen[row]]
    free = chosen.copy()
    free[[row for row, _ in left_out]] = False
    names = (columns.topics, columns.topic, columns.partition)
    leaves = np.zeros(replicas.shape, np.bool_)
    led = (replicas >= 0) & (brokers[replicas] == columns.leader[:, None])
    leader = np.where(led, replicas, -1).max(axis=1)
    numbers = (columns.bytes, _own(columns, replicas), columns.min_isr, free, leader)
    return Table(brokers, *names, replicas, state, leaves, factors, *numbers, columns.rates), left_out


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


def _own(columns: Columns, replicas: Ints) -> Ints:
    """Return the size of each replica; where it is not known, that of a copy."""
    own = np.repeat(columns.bytes[:, None], replicas.shape[1], axis=1)
    own[replicas >= 0] = np.where(columns.sizes < 0, np.repeat(columns.bytes, columns.lengths), columns.sizes)
    return own


def offline_in(cluster: Mapping[int, Broker], columns: Columns) -> Flags:
    """Return which replicas of `ids` are on brokers that are not live, or in directories that have failed."""
    live = [broker.id for broker in cluster.values() if broker.live]
    offline: Flags = ~np.isin(columns.ids, live)
    return offline if columns.failed is None else offline | columns.failed


def _states(columns: Columns, replicas: Ints, is_offline: Flags) -> Ints:
    """Return the state of each replica. `is_offline` has a flag for each of `Columns.ids`.

    Where none is in the ISR, the ISR is not known: those on live brokers are in sync.
    """
    there = replicas >= 0
    in_isr = np.zeros(replicas.shape, np.bool_)
    in_isr[there] = columns.in_isr
    in_isr |= ~in_isr.any(axis=1, keepdims=True)
    offline = np.zeros(replicas.shape, np.bool_)
    offline[there] = is_offline
    return np.where(offline, OFFLINE, np.where(there & ~in_isr, BEHIND, IN_SYNC)).astype(np.int8)


def _obstacles(columns: Columns, brokers: Ints, replicas: Ints, state: Ints) -> list[tuple[int, str]]:
    """Return what keeps partitions from being changed.

    Without a live replica in sync there is no leader to copy from.
    """
    there, found = replicas >= 0, {}
    for row in np.flatnonzero(~(there & (state == IN_SYNC)).any(axis=1)).tolist():
        offline = there[row] & (state[row] == OFFLINE)
        ids = ", ".join(map(str, brokers[replicas[row][offline]].tolist()))
        whole = bool(offline.sum() == there[row].sum())
        found[row] = (
            f"all replicas are offline ({ids})" if whole else f"no replica in sync is online (offline: {ids})"
        )
    found |= dict.fromkeys(np.flatnonzero(columns.moving).tolist(), "being reassigned")
    return sorted(found.items())
