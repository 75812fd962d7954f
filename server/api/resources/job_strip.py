"""`/v1/jobs/{job}/strip`: the states of a job's partitions, in a bounded number of cells."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from controller.model.cluster import TopicPartition
from controller.views.jobs import PartState, part_states
from server.api.shared.call import Call, Endpoint
from server.api.shared.job_rows import job_of


class StripCell(Struct):
    """Partitions that follow each other by topic and number."""

    topic: Annotated[str, Meta(description="The first partition of the cell.")]
    partition: int
    counts: Annotated[list[int], Meta(description="Number of partitions in each of `states`.")]


class Strip(Struct):
    """The partitions of a job by topic and number."""

    total: int
    per_cell: Annotated[int, Meta(description="Partitions in each cell but the last.")]
    states: list[PartState]
    cells: list[StripCell]


class StripQuery(Struct, forbid_unknown_fields=True):
    """How many cells to return."""

    cells: Annotated[int, Meta(ge=1, le=1_000, description="At most.")] = 240


async def strip(call: Call, query: StripQuery) -> Strip:
    """Count the partitions of each cell by state."""
    states: dict[TopicPartition, PartState] = {}
    for piece in part_states(call.state, job_of(call).id):
        states.update(piece)
        await asyncio.sleep(0)
    return await call.compute(len(states), _strip, states, query.cells)


def _strip(states: Mapping[TopicPartition, PartState], most: int) -> Strip:
    keys = sorted(states)
    size = max(1, -(-len(keys) // most))
    found = [states[key] for key in keys]
    used = [state for state in PartState if state in found]  # a set would hash each: that takes longer
    cells = [_cell(keys[start], found[start : start + size], used) for start in range(0, len(keys), size)]
    return Strip(len(keys), size, used, cells)


def _cell(first: TopicPartition, found: Sequence[PartState], states: Sequence[PartState]) -> StripCell:
    return StripCell(*first, [found.count(state) for state in states])


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/jobs/{job}/strip",
        "Get the states of a job's partitions in a bounded number of cells.",
        strip,
        Strip,
        query=StripQuery,
        shared=True,
    ),
)
