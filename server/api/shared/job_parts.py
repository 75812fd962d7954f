"""The partitions of a job: filters, order, and pages."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model import cluster
from controller.model.cluster import Pending, TopicPartition
from controller.model.replicas import without
from controller.state.state import State
from controller.views import jobs as views
from controller.views.jobs import PartRef, PartState, part_of, part_refs
from server.api.shared.call import Call, skip_rows
from server.api.shared.models import Page, Replicas


class DirectoryMove(Struct):
    """The move of a replica between log directories of its broker."""

    broker: int
    source: Annotated[str, Meta(description="The directory when the move was ordered.")]
    target: str


class Part(Struct):
    """One partition of a job; of a job between log directories, one replica of a partition."""

    topic: str
    partition: int
    state: PartState
    replicas: Replicas
    target: Replicas
    original: Replicas
    step: Annotated[tuple[int, ...] | None, Meta(description="The replicas after the step in flight.")]
    leader: Annotated[
        int | None, Meta(description="The broker that the data is copied from; null without a leader.")
    ]
    bytes: Annotated[
        int | None,
        Meta(description="Bytes to copy from the originals to the target; null when the size is not known."),
    ]
    copied: Annotated[int | None, Meta(description="The part of `bytes` that is copied.")]
    reason: Annotated[
        str,
        Meta(
            description="Why the partition does not move or makes no progress; empty when it does or is done."
        ),
    ]
    move: Annotated[
        DirectoryMove | None, Meta(description="Null in jobs that do not move between log directories.")
    ] = None


class PartSort(Enum):
    """The order of a job's partitions."""

    PROGRESS = "progress"
    """Moving, rolling back first, waiting or queued, and ended."""
    PARTITION = "partition"
    STATE = "state"
    BYTES = "bytes"


class PartsPage(Page, forbid_unknown_fields=True):
    """Query parameters of a job's partitions."""

    state: Annotated[PartState | UnsetType, Meta(description="Only partitions in this state.")] = UNSET
    topic: Annotated[
        str | UnsetType, Meta(description="Only partitions of topics whose name contains this text.")
    ] = UNSET
    broker: Annotated[
        int | UnsetType,
        Meta(description="Only partitions with a replica on this broker, now, originally or in the target."),
    ] = UNSET
    sort: Annotated[PartSort, Meta(description="The order of the partitions.")] = PartSort.PROGRESS
    descending: Annotated[bool, Meta(description="Reverse the order.")] = False


async def part_page(call: Call, number: int, page: PartsPage, total: int) -> tuple[list[Part], int]:
    """Return a page of the job's partitions, and how many the filters select.

    `total` is their number without filters.
    """
    refs = part_refs(call.state, number)
    if is_in_progress_order(page):
        # The rest need not be visited: the first pages of a large job take no longer than those of a small
        # one.
        found, matching = await call.collect(skip_rows(refs, page.offset), page.limit), total
    else:
        selected = await call.collect(_selected(call.state, refs, page))
        ordered = await call.compute(
            len(selected), _ordered, selected, _KEYS[page.sort](call), page.descending
        )
        found, matching = ordered[page.offset : page.offset + page.limit], len(selected)
    listed = (part_of(call.state, ref.record) for ref in found)
    return [part_row(call, part) for part in listed if part is not None], matching


def is_in_progress_order(page: PartsPage) -> bool:
    """Whether the page has all partitions, in the order of their progress."""
    has_filter = any(given is not UNSET for given in (page.state, page.topic, page.broker))
    return page.sort is PartSort.PROGRESS and not page.descending and not has_filter


def _selected(state: State, refs: Iterator[PartRef | None], page: PartsPage) -> Iterator[PartRef | None]:
    in_state, topic, broker = page.state, page.topic, page.broker
    for ref in refs:
        selected = (
            ref is not None
            and (in_state is UNSET or ref.state is in_state)
            and (topic is UNSET or topic in ref.key.topic)
            and (broker is UNSET or broker in _replicas(state, ref))
        )
        yield ref if selected else None


def _replicas(state: State, ref: PartRef) -> cluster.Replicas:
    """Return the replicas of the partition: now, originally, and in the target."""
    partition, record = state.cluster.partition(*ref.key), ref.record
    now = () if partition is None else partition.replicas
    return now + record.target + (() if isinstance(record, Pending) else record.original)


def _ordered(found: list[PartRef], key: Callable[[PartRef], Any] | None, descending: bool) -> list[PartRef]:
    if key is None:
        return found[::-1] if descending else found
    return sorted(found, key=key, reverse=descending)


_STATES = {state: place for place, state in enumerate(PartState)}

_KEYS: dict[PartSort, Callable[[Call], Callable[[PartRef], Any] | None]] = {
    PartSort.PROGRESS: lambda _: None,
    PartSort.PARTITION: lambda _: lambda ref: ref.key,
    PartSort.STATE: lambda _: lambda ref: (_STATES[ref.state], ref.key),
    PartSort.BYTES: lambda call: lambda ref: (_bytes_of_ref(call, ref), ref.key),
}


def _bytes_of_ref(call: Call, ref: PartRef) -> int:
    record = ref.record
    if isinstance(record, Pending):
        part = part_of(call.state, ref.record)
        return 0 if part is None else bytes_to_copy(call, part) or 0
    return (call.services.sizes.size(ref.key) or 0) * len(without(record.target, record.original))


def part_row(call: Call, part: views.Part) -> Part:
    """Return the partition as the API shows it."""
    topic, number, state, replicas, target, original, step, reason = part
    key = TopicPartition(topic, number)
    partition = call.state.cluster.partition(*key)
    if state is PartState.MOVING:
        reason = call.services.progress.stalled.get(key, "")
    return Part(
        topic,
        number,
        state,
        replicas,
        target,
        original,
        step,
        None if partition is None or partition.leader < 0 else partition.leader,
        bytes_to_copy(call, part),
        copied_bytes(call, part),
        reason,
    )


def bytes_to_copy(call: Call, part: views.Part) -> int | None:
    """Return the bytes from the originals to the target; None if the size is not known."""
    size = call.services.sizes.size(TopicPartition(part.topic, part.partition))
    return None if size is None else size * len(_added(part))


def copied_bytes(call: Call, part: views.Part) -> int | None:
    """Return the bytes of the added replicas that are complete, and what the others have received."""
    key = TopicPartition(part.topic, part.partition)
    size, partition = call.services.sizes.size(key), call.state.cluster.partition(*key)
    if size is None or partition is None:
        return None
    adding = partition.adding if part.state is PartState.MOVING else ()
    received = sum(min(size, call.services.sizes.arrived(key, r) or 0) for r in _added(part) if r in adding)
    return received + size * sum(r in part.replicas for r in _added(part))


def _added(part: views.Part) -> cluster.Replicas:
    return without(part.target, part.original)
