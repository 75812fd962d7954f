"""What the state looks like from outside: ongoing reassignments and the health of partitions (KIP-455, KIP-352)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from controller.model.cluster import NO_LEADER, Partition, Reassignment, Replicas, TopicPartition
from controller.state.state import State


class Lists(NamedTuple):
    """What a row of ListPartitionReassignments says of its replicas. Partitions with equal lists share it."""

    replicas: Replicas
    """The target, then what is to go."""
    adding: Replicas
    removing: Replicas
    step: Replicas | None
    """Where the step in flight leads, from `current`; None when none is in flight (KIP-435's current
    batch)."""
    current: Replicas


class Ongoing(NamedTuple):
    """One row of ListPartitionReassignments: queued, waiting and moving partitions look alike.

    See `Lists`.
    """

    topic: str
    partition: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas
    step: Replicas | None
    current: Replicas


def ongoing(state: State, topics: Mapping[str, Iterable[int] | None] | None = None) -> Iterator[Ongoing]:
    """The ongoing reassignments, in order of acceptance when `topics` is None, else as asked for.

    `topics` maps names to partitions; None for partitions means all of the topic. What is unknown is left
    out. A long listing may be taken piece by piece, or in another thread, while the state changes: what is
    gone when its turn comes is left out too.
    """
    for topic, rows in listed(state, topics):
        for partition, lists in rows:
            yield Ongoing(topic, partition, *lists)


def listed(
    state: State, topics: Mapping[str, Iterable[int] | None] | None = None
) -> Iterator[tuple[str, list[tuple[int, Lists]]]]:
    """`ongoing`, at a third of the cost: partitions and lists in runs of one topic, which may come again."""
    for topic, chosen in groupby(_chosen(state, topics), itemgetter(0)):
        partitions = state.partitions.get(topic, ())
        # A topic that is being deleted loses its last partitions first, in the middle of this in another thread too.
        with suppress(IndexError):
            rows = []
            for _, number, original, target, _, _ in chosen:
                partition = partitions[number]
                lists = _lists(partition.replicas, partition.adding, partition.removing, original, target)
                rows.append((number, lists))
            yield topic, rows


@lru_cache(maxsize=65_536)
def _lists(
    replicas: Replicas, adding: Replicas, removing: Replicas, original: Replicas, target: Replicas
) -> Lists:
    """All of a row but its name (docs/how-it-works.md, Listing)."""
    partition = Partition("", 0, replicas, (), NO_LEADER, adding=adding, removing=removing)
    current = Reassignment("", 0, original, target).current_of(partition)
    going = tuple(r for r in current if r not in target)
    coming = tuple(r for r in target if r not in current)
    return Lists(target + going, coming, going, partition.next if partition.moving else None, current)


class Counts(NamedTuple):
    """Health in numbers; an adding replica never makes a partition under-replicated (KIP-352)."""

    partitions: int
    offline: int
    under_replicated: int
    under_min_isr: int
    at_min_isr: int
    reassigning: int
    """Partitions with an ongoing reassignment."""
    reassigned_replicas: int
    """KIP-352's ReassignedCount: replicas that steps in flight are adding."""


def counts(state: State) -> Counts:
    """Count what is in trouble; the cost grows with the trouble and the reassignments, not with the cluster."""
    troubled = [state.partitions[key.topic][key.partition] for key in state.under_replicated]
    floors = [(len(p.isr), effective_min_isr(state, p)) for p in troubled]
    return Counts(
        partitions=sum(map(len, state.partitions.values())),
        offline=len(state.offline),
        under_replicated=len(troubled),
        under_min_isr=sum(size < floor for size, floor in floors),
        at_min_isr=sum(size == floor for size, floor in floors),
        reassigning=len(state.reassignments),
        reassigned_replicas=state.adding,
    )


def effective_min_isr(state: State, partition: Partition) -> int:
    """`min.insync.replicas`, but no more than there are replicas (Kafka: Partition.effectiveMinIsr)."""
    return min(state.min_isr(partition.topic), len(partition.replicas))


def _chosen(state: State, topics: Mapping[str, Iterable[int] | None] | None) -> Sequence[Reassignment]:
    wanted = state.reassignments
    if topics is None:
        others = (state.external | state.pending.keys()) - wanted.keys()
        return [*wanted.values(), *filter(None, (_of_others(state, key) for key in sorted(others)))]
    chosen = []
    for topic, partitions in topics.items():
        if topic in state.reassigning or state.external or state.pending:
            numbers = range(len(state.partitions.get(topic, ()))) if partitions is None else partitions
            for key in (TopicPartition(topic, number) for number in numbers):
                if key in wanted:
                    chosen.append(wanted[key])
                elif (key in state.external or key in state.pending) and (
                    theirs := _of_others(state, key)
                ) is not None:
                    chosen.append(theirs)
    return chosen


def _of_others(state: State, key: TopicPartition) -> Reassignment | None:
    """What someone else wants of the partition, as an upstream shows it, or what is queued behind that; None when it has just gone."""
    partition, pending = state.partition(*key), state.pending.get(key)
    if partition is None:
        return None
    ours = pending is not None and key not in state.external
    return Reassignment(*key, partition.current, pending.target if ours and pending else partition.next)
