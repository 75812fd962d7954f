"""Partitions, whether they move or not: filters, order, and pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from controller.cluster.health import effective_min_isr
from controller.model.cluster import NO_LEADER, Partition, TopicPartition
from controller.state.state import State
from controller.views import jobs as views
from controller.views.jobs import PartState
from controller.views.reassignments import ends_of
from server.api.shared.call import Call
from server.api.shared.job_parts import bytes_to_copy, copied_bytes
from server.api.shared.models import Page, Replicas
from server.progress.rates import Sizes

SORTED_AT_ONCE = 10_000
"""Rows up to which the first pages of an order are selected without sorting the rest."""


class PartitionState(Enum):
    """What happens to a partition."""

    AT_REST = "at rest"
    MOVING = "moving"
    WAITING = "waiting"
    QUEUED = "queued"
    PENDING = "rolling back first"
    EXTERNAL = "external"
    """Another client moves it."""


class PartitionHealth(Enum):
    """The health of a partition; the worst that applies."""

    IN_SYNC = "in sync"
    UNDER_REPLICATED = "under-replicated"
    UNDER_MIN_ISR = "under min ISR"
    OFFLINE = "offline"


class PartitionRow(Struct):
    """A partition."""

    topic: str
    partition: int
    state: PartitionState
    health: PartitionHealth
    replicas: Annotated[Replicas, Meta(description="Its replicas after the last completed step.")]
    isr: Annotated[tuple[int, ...], Meta(description="The replicas in sync, with those being added.")]
    leader: Annotated[int | None, Meta(description="Null without a leader.")]
    min_isr: Annotated[int, Meta(description="`min.insync.replicas`, at most the number of replicas.")]
    size: Annotated[int | None, Meta(description="Bytes of the leader's replica; null if not known.")]
    sizes: Annotated[
        tuple[int | None, ...],
        Meta(description="What the broker of each replica reports for it; null where it is not known."),
    ]
    log_dirs: Annotated[
        tuple[str | None, ...],
        Meta(description="The log directory of each replica; null where it is not known."),
    ]
    target: Annotated[Replicas | None, Meta(description="Null if its replicas stay.")]
    original: Annotated[
        Replicas | None, Meta(description="The replicas that a cancel restores; null if nothing is ordered.")
    ]
    step: Annotated[Replicas | None, Meta(description="The replicas after the step in flight.")]
    job: Annotated[int | None, Meta(description="The job that moves it.")]
    bytes: Annotated[
        int | None,
        Meta(description="Bytes to copy to the target; null if it stays or its size is not known."),
    ]
    copied: Annotated[int | None, Meta(description="The part of `bytes` that is copied.")]
    reason: Annotated[
        str, Meta(description="Why it does not move or makes no progress; empty when it does, or stays.")
    ]


class PartitionSort(Enum):
    """The order of partitions."""

    PARTITION = "partition"
    """By topic and number."""
    SIZE = "size"
    STATE = "state"
    """Those that move first, then those that wait, are queued, and stay."""
    HEALTH = "health"
    """Offline ones first."""


class PartitionsOfTopicPage(Page, forbid_unknown_fields=True):
    """Query parameters of a topic's partitions."""

    state: Annotated[PartitionState | UnsetType, Meta(description="Only partitions in this state.")] = UNSET
    health: Annotated[PartitionHealth | UnsetType, Meta(description="Only partitions of this health.")] = (
        UNSET
    )
    broker: Annotated[
        int | UnsetType,
        Meta(description="Only partitions with a replica on this broker, now or in the target."),
    ] = UNSET
    leader: Annotated[int | UnsetType, Meta(description="Only partitions that this broker leads.")] = UNSET
    sort: Annotated[PartitionSort, Meta(description="The order of the partitions.")] = PartitionSort.PARTITION
    descending: Annotated[bool, Meta(description="Reverse the order.")] = False


async def partition_page(
    call: Call, topics: Iterable[str], page: PartitionsOfTopicPage
) -> tuple[list[PartitionRow], int]:
    """Return a page of the partitions of these topics, and how many the filters select.

    A large cluster is searched off the loop. Its partitions may change meanwhile: the rows are those of the
    end.
    """
    chosen = [call.state.cluster.partitions.get(topic, []) for topic in topics]
    if page.sort is PartitionSort.PARTITION and not page.descending and not _has_filter(page):
        found, total = _slice(chosen, page.offset, page.limit), sum(map(len, chosen))
    else:
        rows = sum(map(len, chosen))
        found, total = await call.compute(rows, _found, call.state, call.services.sizes, chosen, page)
    return [partition_row(call, each) for each in found], total


def partition_row(call: Call, partition: Partition) -> PartitionRow:
    """Return the partition as the API shows it."""
    state, key = call.state, partition.key
    order = views.order_of(state, key)
    part = None if order is None else views.part_of(state, order)
    now = state_of(state, key)
    size, stored = call.services.sizes.size(key), call.services.sizes.stored(key)
    own = [None if stored is None else stored.on(broker) for broker in partition.current]
    target, step, reason = None, None, ""
    if part is not None:
        target, step, reason = part.target, part.step, part.reason
    elif now is PartitionState.EXTERNAL:
        target = step = partition.next
    if now is PartitionState.MOVING:
        reason = call.services.progress.stalled.get(key, "")
    return PartitionRow(
        topic=partition.topic,
        partition=partition.partition,
        state=now,
        health=health_of(state, partition),
        replicas=partition.current,
        isr=partition.isr,
        leader=None if partition.leader == NO_LEADER else partition.leader,
        min_isr=effective_min_isr(state, partition),
        size=size,
        sizes=tuple(None if each is None else each.bytes for each in own),
        log_dirs=tuple(None if each is None else each.log_dir for each in own),
        target=target,
        original=None if part is None else part.original,
        step=step,
        job=None if order is None else order.job or None,
        bytes=None if part is None else bytes_to_copy(call, part),
        copied=None if part is None else copied_bytes(call, part),
        reason=reason,
    )


def state_of(state: State, key: TopicPartition) -> PartitionState:
    """Return what happens to the partition."""
    if key in state.gateway.external:
        return PartitionState.EXTERNAL
    if key in state.orders.reassignments:
        if key in state.in_flight:
            return PartitionState.MOVING
        waits = views.state_at_rest(state, key) is PartState.WAITING
        return PartitionState.WAITING if waits else PartitionState.QUEUED
    return PartitionState.PENDING if key in state.orders.pending else PartitionState.AT_REST


def has_or_gets(state: State, partition: Partition, broker: int) -> bool:
    """Return whether the broker holds a replica, or is to get one, by a queued plan too."""
    return broker in partition.replicas or any(broker in end for end in ends_of(state, partition))


def health_of(state: State, partition: Partition) -> PartitionHealth:
    """Return the worst that applies to the partition."""
    if partition.leader == NO_LEADER:
        return PartitionHealth.OFFLINE
    if partition.isr == partition.replicas or not partition.under_replicated:
        return PartitionHealth.IN_SYNC
    if len(partition.isr) < effective_min_isr(state, partition):
        return PartitionHealth.UNDER_MIN_ISR
    return PartitionHealth.UNDER_REPLICATED


def _has_filter(page: PartitionsOfTopicPage) -> bool:
    return any(given is not UNSET for given in (page.state, page.health, page.broker, page.leader))


def _slice(chosen: Sequence[Sequence[Partition]], offset: int, limit: int) -> list[Partition]:
    found: list[Partition] = []
    for partitions in chosen:
        if len(found) == limit:
            break
        found += islice(partitions, offset, offset + limit - len(found))
        offset = max(0, offset - len(partitions))
    return found


def _found(
    state: State, sizes: Sizes, chosen: Sequence[Sequence[Partition]], page: PartitionsOfTopicPage
) -> tuple[list[Partition], int]:
    """Return the rows of the page, and how many partitions the filters select."""
    selected = [each for partitions in chosen for each in _selected(state, list(partitions), page)]
    key = _KEYS[page.sort](state, sizes)
    end = page.offset + page.limit
    if end <= SORTED_AT_ONCE:
        first = nlargest if page.descending else nsmallest
        ordered = first(end, selected, key=key)
    else:
        ordered = sorted(selected, key=key, reverse=page.descending)
    return ordered[page.offset : end], len(selected)


def _selected(
    state: State, partitions: Sequence[Partition], page: PartitionsOfTopicPage
) -> Iterator[Partition]:
    """Yield the partitions that all filters select, the cheapest filter first."""
    found: Iterable[Partition] = partitions
    if page.leader is not UNSET:
        found = [each for each in found if each.leader == page.leader]
    if page.broker is not UNSET:
        found = [each for each in found if has_or_gets(state, each, page.broker)]
    if page.health is not UNSET:
        found = [each for each in found if health_of(state, each) is page.health]
    if page.state is not UNSET:
        found = [each for each in found if state_of(state, each.key) is page.state]
    yield from found


_STATES = {
    state: place
    for place, state in enumerate(
        (
            PartitionState.MOVING,
            PartitionState.EXTERNAL,
            PartitionState.PENDING,
            PartitionState.WAITING,
            PartitionState.QUEUED,
            PartitionState.AT_REST,
        )
    )
}
_HEALTH = {health: place for place, health in enumerate(reversed(PartitionHealth))}

_KEYS: dict[PartitionSort, Callable[[State, Sizes], Callable[[Partition], Any]]] = {
    PartitionSort.PARTITION: lambda _, __: lambda each: (each.topic, each.partition),
    PartitionSort.SIZE: lambda _, sizes: lambda each: (sizes.size(each.key) or 0, each.topic, each.partition),
    PartitionSort.STATE: lambda state, _: lambda each: (
        _STATES[state_of(state, each.key)], each.topic, each.partition,
    ),
    PartitionSort.HEALTH: lambda state, _: lambda each: (
        _HEALTH[health_of(state, each)], each.topic, each.partition,
    ),
}  # fmt: skip
