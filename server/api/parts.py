"""The partitions of a job: filters, order, and pages."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET

from controller.model.cluster import Replicas, TopicPartition
from controller.model.names import without
from controller.views.jobs import Part, PartState, parts
from server.api import models
from server.api.call import Call, skip_rows
from server.api.models import PartSort, PartsPage


async def part_page(call: Call, number: int, page: PartsPage, total: int) -> tuple[list[models.Part], int]:
    """Return a page of the job's partitions, and how many the filters select. `total` is their number without filters."""
    rows = _selected(call, number, page)
    if page.sort is PartSort.PROGRESS and not page.descending and not _has_filter(page):
        # The rest need not be visited: the first pages of a large job take no longer than those of a small one.
        listed = await call.collect(skip_rows(rows, page.offset), page.limit)
        return [_row(call, part) for part in listed], total
    found = await call.collect(rows)
    ordered = await call.compute(len(found), _ordered, found, _KEYS[page.sort](call), page.descending)
    return [_row(call, part) for part in ordered[page.offset : page.offset + page.limit]], len(found)


def _has_filter(page: PartsPage) -> bool:
    return any(given is not UNSET for given in (page.state, page.topic, page.broker))


def _selected(call: Call, number: int, page: PartsPage) -> Iterator[Part | None]:
    state, topic, broker = page.state, page.topic, page.broker
    for part in parts(call.state, number):
        selected = (
            part is not None
            and (state is UNSET or part.state is state)
            and (topic is UNSET or topic in part.topic)
            and (broker is UNSET or broker in part.replicas + part.target + part.original)
        )
        yield part if selected else None


def _ordered(found: list[Part], key: Callable[[Part], Any] | None, descending: bool) -> list[Part]:
    if key is None:
        return found[::-1] if descending else found
    return sorted(found, key=key, reverse=descending)


def _by_name(part: Part) -> tuple[str, int]:
    return part.topic, part.partition


_STATES = {state: place for place, state in enumerate(PartState)}

_KEYS: dict[PartSort, Callable[[Call], Callable[[Part], Any] | None]] = {
    PartSort.PROGRESS: lambda _: None,
    PartSort.PARTITION: lambda _: _by_name,
    PartSort.STATE: lambda _: lambda part: (_STATES[part.state], _by_name(part)),
    PartSort.BYTES: lambda call: lambda part: (_bytes(call, part) or 0, _by_name(part)),
}


def _row(call: Call, part: Part) -> models.Part:
    topic, number, state, replicas, target, original, step, reason = part
    key = TopicPartition(topic, number)
    partition = call.state.partition(*key)
    if state is PartState.MOVING:
        reason = call.core.progress.stalled.get(key, "")
    return models.Part(
        topic,
        number,
        state,
        replicas,
        target,
        original,
        step,
        None if partition is None or partition.leader < 0 else partition.leader,
        _bytes(call, part),
        _copied(call, part),
        reason,
    )


def _bytes(call: Call, part: Part) -> int | None:
    size = call.core.sizes.size(TopicPartition(part.topic, part.partition))
    return None if size is None else size * len(_added(part))


def _copied(call: Call, part: Part) -> int | None:
    """Return the bytes of the added replicas that are complete, and what the others have received."""
    key = TopicPartition(part.topic, part.partition)
    size, partition = call.core.sizes.size(key), call.state.partition(*key)
    if size is None or partition is None:
        return None
    adding = partition.adding if part.state is PartState.MOVING else ()
    received = sum(min(size, call.core.sizes.arrived(key, r) or 0) for r in _added(part) if r in adding)
    return received + size * sum(r in part.replicas for r in _added(part))


def _added(part: Part) -> Replicas:
    return without(part.target, part.original)
