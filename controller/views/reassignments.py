"""Views of the state: ongoing reassignments (KIP-455) and the health of partitions (KIP-352)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from controller.cluster.health import effective_min_isr
from controller.model.cluster import NO_LEADER, Partition, Reassignment, Replicas, TopicPartition
from controller.state.state import State


class Lists(NamedTuple):
    """The replica lists of a row of ListPartitionReassignments.

    Partitions with equal lists share one object.
    """

    replicas: Replicas
    """The target, followed by the removing replicas."""
    adding: Replicas
    removing: Replicas
    step: Replicas | None
    """The list after the step in flight, which starts from `current`; None without one."""
    current: Replicas


class Ongoing(NamedTuple):
    """One row of ListPartitionReassignments, in the same form for queued, waiting and moving partitions.

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
    """Yield the rows of `ongoing` grouped by topic, at a third of the cost.

    A topic may occur more than once.
    """
    for topic, chosen in groupby(_chosen(state, topics), itemgetter(0)):
        partitions = state.cluster.partitions.get(topic, ())
        # A topic can be deleted meanwhile by another thread: it loses its last partitions first.
        with suppress(IndexError):
            rows = []
            known: tuple[Replicas, ...] = ()
            lists = _lists((), (), (), (), ())
            for _, number, original, target, *_ in chosen:
                _, _, replicas, _, _, _, _, adding, removing = partitions[number]
                # Neighbours often share their lists. To compare the same objects takes a fifth of a cached
                # call.
                if known != (of_row := (replicas, adding, removing, original, target)):
                    known, lists = of_row, _lists(*of_row)
                rows.append((number, lists))
            yield topic, rows


def is_under_way(state: State, key: TopicPartition) -> bool:
    """Return whether the partition is being reassigned, here or by others, or is queued."""
    return key in state.orders.reassignments or key in state.gateway.external or key in state.orders.pending


def listed_topics(state: State) -> list[str]:
    """Return the topics with an ongoing reassignment, in the order of the first acceptance.

    External ones last.
    """
    others = {key.topic for key in state.gateway.external | state.orders.pending.keys()}
    return [*state.orders.reassigning, *sorted(others - state.orders.reassigning.keys())]


@lru_cache(maxsize=65_536)
def _lists(
    replicas: Replicas, adding: Replicas, removing: Replicas, original: Replicas, target: Replicas
) -> Lists:
    """Return the replica lists of a row (docs/how-it-works.md, Listing)."""
    partition = Partition("", 0, replicas, (), NO_LEADER, adding=adding, removing=removing)
    current = Reassignment("", 0, original, target).current_of(partition)
    to_remove = tuple(r for r in current if r not in target)
    to_add = tuple(r for r in target if r not in current)
    return Lists(target + to_remove, to_add, to_remove, partition.next if partition.moving else None, current)


class Counts(NamedTuple):
    """Counts of partitions by health.

    An adding replica does not make a partition under-replicated (KIP-352).
    """

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
    """Return the counts.

    The cost depends on the number of unhealthy partitions, not on the size of the cluster.
    """
    unhealthy = [state.cluster.partitions[key.topic][key.partition] for key in state.cluster.under_replicated]
    isr_sizes = [(len(p.isr), effective_min_isr(state, p)) for p in unhealthy]
    return Counts(
        partitions=sum(map(len, state.cluster.partitions.values())),
        offline=len(state.cluster.offline),
        under_replicated=len(unhealthy),
        under_min_isr=sum(size < min_isr for size, min_isr in isr_sizes),
        at_min_isr=sum(size == min_isr for size, min_isr in isr_sizes),
        reassigning=len(state.orders.reassignments),
        reassigned_replicas=state.cluster.adding,
    )


def _chosen(state: State, topics: Mapping[str, Iterable[int] | None] | None) -> Sequence[Reassignment]:
    reassignments = state.orders.reassignments
    if topics is None:
        others = (state.gateway.external | state.orders.pending.keys()) - reassignments.keys()
        return [
            *reassignments.values(),
            *filter(None, (_external_or_queued(state, key) for key in sorted(others))),
        ]
    chosen = []
    for topic, partitions in topics.items():
        if topic in state.orders.reassigning or state.gateway.external or state.orders.pending:
            numbers = (
                range(len(state.cluster.partitions.get(topic, ()))) if partitions is None else partitions
            )
            for key in (TopicPartition(topic, number) for number in numbers):
                if key in reassignments:
                    chosen.append(reassignments[key])
                elif (key in state.gateway.external or key in state.orders.pending) and (
                    external := _external_or_queued(state, key)
                ) is not None:
                    chosen.append(external)
    return chosen


def ends_of(state: State, partition: Partition) -> tuple[Replicas, ...]:
    """Return the replicas after each order for the partition: its reassignment, then a queued plan.

    A partition that waits for its rollback has both. Without an order, it is the end of a step of others, or
    the replicas that it has.
    """
    orders, key = state.orders, partition.key
    reassignment, pending = orders.reassignments.get(key), orders.pending.get(key)
    if pending is None:
        return (partition.next if reassignment is None else reassignment.target,)
    return (pending.target,) if reassignment is None else (reassignment.target, pending.target)


def _external_or_queued(state: State, key: TopicPartition) -> Reassignment | None:
    """Return the reassignment by another client, or else the queued target; None if it is deleted."""
    partition, pending = state.cluster.partition(*key), state.orders.pending.get(key)
    if partition is None:
        return None
    is_queued = pending is not None and key not in state.gateway.external
    return Reassignment(*key, partition.current, pending.target if is_queued and pending else partition.next)
