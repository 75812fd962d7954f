"""Bytes and time per wave and per broker, from steps that have their waves.

A wave takes as long as its busiest broker: the larger of what it receives and what it sends, over the
bandwidth. Waves that run one after the other take the sum of these times. No order of the steps takes less
than the busiest broker needs for all of its steps. The server has a rolling window, which does not wait for
the slowest step of a wave, so its time is between the two.

What producers write to a partition while it is copied has to be copied too: S bytes at a rate of B, while W
bytes per second are written, take S / (B - W) seconds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from planner.model.snapshot import TOPIC_PARTITION, Broker, Snapshot
from planner.model.step_table import Move, StepTable

LISTED = 1000
"""Maximum number of waiting partitions in a summary; all of them are counted."""

NO_RATES: Mapping[int, int] = {}
"""No broker has a rate of its own; the bandwidth of all applies."""

NO_WRITES: Mapping[TOPIC_PARTITION, float] = {}
"""It is not known what producers write."""

LEAST_PART = 0.01
"""Part of a rate that is counted with where producers write as fast, or faster: such a copy never ends."""

COUNTED = ("replicas_in", "replicas_out", "bytes_in", "bytes_out", "leaders_in", "leaders_out")


class Forecast(NamedTuple):
    """The content of summary.json. Times are in seconds, `bandwidth` in bytes per second."""

    limits: Mapping[str, int]
    bandwidth: int
    partitions: int
    unchanged: int
    steps: int
    waves: int
    replica_movements: int
    leader_movements: int
    bytes: int
    seconds: float
    least_seconds: float
    brokers: Sequence[Mapping[str, Any]]
    waiting_partitions: int
    waiting: Sequence[Mapping[str, Any]]
    tiered_partitions: int = 0
    """Partitions that are copied, and of which only the local part of the log counts and is copied."""
    outpaced_brokers: int = 0
    """Brokers that copy no faster than producers write to what they copy in a wave."""


class WaveRow(NamedTuple):
    """What a broker does in a wave. A leader movement is one in and one out."""

    wave: int
    broker: int
    replicas_in: int
    replicas_out: int
    bytes_in: int
    bytes_out: int
    leaders_in: int
    leaders_out: int
    seconds: float
    outpaced: bool
    """Whether producers write as fast as the broker copies, so that it does not end."""


class Wave(NamedTuple):
    """The totals of a wave."""

    number: int
    bytes: int
    replicas: int
    seconds: float


def forecast_of(
    moves: Sequence[Move],
    snapshot: Snapshot,
    limits: Mapping[str, int],
    bandwidth: int,
    steps: StepTable,
    waves: Sequence[WaveRow],
    waiting: Sequence[Mapping[str, Any]],
    rates: Mapping[int, int] = NO_RATES,
) -> Forecast:
    """Compute the totals. `waves` is the result of `wave_rows` for the steps."""
    totals = per_wave(waves)
    brokers = _brokers(snapshot, steps, waves, bandwidth, rates)
    return Forecast(
        limits=limits,
        bandwidth=bandwidth,
        partitions=len(moves),
        unchanged=sum(move.current == move.target for move in moves),
        steps=len(steps),
        waves=1 + max((wave for (wave,) in steps.rows("wave")), default=-1),
        replica_movements=sum(wave.replicas for wave in totals),
        leader_movements=sum(moved for (moved,) in steps.rows("leader_movement")),
        bytes=sum(wave.bytes for wave in totals),
        seconds=round(sum(wave.seconds for wave in totals), 3),
        least_seconds=round(max((broker["seconds"] for broker in brokers), default=0.0), 3),
        brokers=brokers,
        waiting_partitions=len(waiting),
        waiting=waiting[:LISTED],
        tiered_partitions=sum(_is_tiered(move, snapshot) for move in moves),
        outpaced_brokers=len({row.broker for row in waves if row.outpaced}),
    )


def written_to(moves: Iterable[Move], snapshot: Snapshot) -> Mapping[TOPIC_PARTITION, float]:
    """Return what producers write to these partitions now, in bytes per second, where it is known."""
    keys = ((move.topic, move.partition) for move in moves)
    known = ((key, snapshot.partitions[key].load) for key in keys if key in snapshot.partitions)
    return {key: load.bytes_in for key, load in known if load is not None and load.bytes_in}


def _is_tiered(move: Move, snapshot: Snapshot) -> bool:
    """Whether the move copies a part of a log, the rest of which is in remote storage."""
    partition = snapshot.partitions.get((move.topic, move.partition))
    copied = not set(move.current).issuperset(move.target)
    return partition is not None and partition.tiered and copied


def wave_rows(
    steps: StepTable,
    bandwidth: int,
    rates: Mapping[int, int] = NO_RATES,
    written: Mapping[TOPIC_PARTITION, float] = NO_WRITES,
) -> Iterator[WaveRow]:
    """Yield one row per wave and broker that takes part, in their order.

    The steps are in the order of waves. `written` is what producers write to each partition.
    """
    key = ("topic", "partition") if written else ()
    rows = steps.rows("wave", "adding", "source", "leader", "replica_bytes", *key)
    for wave, changes in groupby(rows, itemgetter(0)):
        brokers, into, out = _per_broker(changes, written)
        for broker, counts in sorted(brokers.items()):
            if broker >= 0:
                rate, more = rates.get(broker, bandwidth), (into[broker], out[broker])
                seconds = max(map(_copy_seconds, counts[2:4], (rate, rate), more))
                outpaced = any(counts[2:4]) and max(more) > rate * (1 - LEAST_PART)
                yield WaveRow._make((wave, broker, *counts, seconds, outpaced))


def _copy_seconds(size: int, rate: int, written: float) -> float:
    """Return how long bytes take to which producers add while they are copied."""
    return size / max(rate - written, rate * LEAST_PART)


def _per_broker(
    changes: Iterable[tuple[Any, ...]], written: Mapping[TOPIC_PARTITION, float]
) -> tuple[Mapping[int, list[int]], Mapping[int, float], Mapping[int, float]]:
    """Return the counts of each broker, in the order of COUNTED, and what producers add in the meantime.

    These are the bytes per second that are added to what each broker receives, and to what it sends.
    """
    brokers = defaultdict[int, list[int]](lambda: [0] * len(COUNTED))
    into, out = defaultdict[int, float](float), defaultdict[int, float](float)
    for _, adding, source, leader, size, *key in changes:
        for broker in adding:
            received = brokers[broker]
            received[0] += 1
            received[2] += size
        if adding:
            sent = brokers[source]
            sent[1] += len(adding)
            sent[3] += size * len(adding)
        if leader != source:
            brokers[leader][4] += 1
            brokers[source][5] += 1
        if written and (rate := written.get((key[0], key[1]), 0.0)):
            for broker in adding:
                into[broker] += rate
            out[source] += rate * len(adding)
    return brokers, into, out


def per_wave(waves: Iterable[WaveRow]) -> list[Wave]:
    """Return the totals of each wave that moves something."""
    return [
        Wave(
            number,
            sum(row.bytes_in for row in rows),
            sum(row.replicas_in for row in rows),
            max(row.seconds for row in rows),
        )
        for number, group in groupby(waves, itemgetter(0))
        for rows in (list(group),)
    ]


def _brokers(
    snapshot: Snapshot, steps: StepTable, waves: Iterable[WaveRow], bandwidth: int, rates: Mapping[int, int]
) -> list[dict[str, Any]]:
    """Return one row per broker, by id: its load before and after, the traffic in and out, and the time."""
    before, lost = _held(snapshot), _lost(steps, snapshot)
    totals = defaultdict[int, list[int]](lambda: [0] * len(COUNTED))
    for row in waves:
        totals[row.broker] = [
            total + count for total, count in zip(totals[row.broker], row[2:8], strict=True)
        ]
    rows = []
    for id_ in sorted({*snapshot.brokers, *before, *totals}):
        broker = snapshot.brokers.get(id_, Broker(id_, live=False))
        moved = dict(zip(COUNTED, totals[id_], strict=True))
        had, gone = before.get(id_, Held()), lost.get(id_, Held())
        after = Held(
            had.replicas + moved["replicas_in"] - gone.replicas,
            had.bytes + moved["bytes_in"] - gone.bytes,
            had.leaders + moved["leaders_in"] - moved["leaders_out"],
        )
        seconds = round(max(moved["bytes_in"], moved["bytes_out"]) / rates.get(id_, bandwidth), 3)
        about = {"rack": broker.rack, "live": broker.live, "before": had._asdict(), "after": after._asdict()}
        rows.append({"broker": id_, **moved, "seconds": seconds, **about})
    return rows


class Held(NamedTuple):
    """The load of a broker."""

    replicas: int = 0
    bytes: int = 0
    leaders: int = 0


def _held(snapshot: Snapshot) -> dict[int, Held]:
    replicas, stored, leaders = Counter[int](), Counter[int](), Counter[int]()
    for partition in snapshot.partitions.values():
        leaders[partition.leader] += 1
        for broker in partition.replicas:
            replicas[broker] += 1
            stored[broker] += partition.size_on(broker)
    return {broker: Held(count, stored[broker], leaders[broker]) for broker, count in replicas.items()}


def _lost(steps: StepTable, snapshot: Snapshot) -> dict[int, Held]:
    """Return what the steps remove from each broker.

    A replica that was there before has its own size, one that an earlier step has added that of a copy.
    """
    replicas, stored = Counter[int](), Counter[int]()
    for *key, removing, size in steps.rows("topic", "partition", "removing", "replica_bytes"):
        partition = snapshot.partitions.get(tuple(key)) if removing else None
        for broker in removing:
            replicas[broker] += 1
            stored[broker] += size if partition is None else partition.size_on(broker)
    return {broker: Held(count, stored[broker]) for broker, count in replicas.items()}
