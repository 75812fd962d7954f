"""`/v1/jobs/{job}/strip`: the states of a job's partitions, in a bounded number of cells."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated

from msgspec import Meta, Struct

from controller.views.jobs import PartRef, PartState, part_refs
from server.api.shared.call import Call, Endpoint
from server.api.shared.job_rows import job_of

_KEY = attrgetter("key")


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
    job = job_of(call)
    refs = await call.collect(part_refs(call.state, job.id))
    return await call.compute(len(refs), _strip, refs, query.cells)


def _strip(refs: list[PartRef], most: int) -> Strip:
    rows = sorted(refs, key=_KEY)
    size = max(1, -(-len(rows) // most))
    present = {ref.state for ref in refs}
    used = [state for state in PartState if state in present]
    cells = [_cell(rows[start : start + size], used) for start in range(0, len(rows), size)]
    return Strip(len(rows), size, used, cells)


def _cell(rows: Sequence[PartRef], states: Sequence[PartState]) -> StripCell:
    found = [ref.state for ref in rows]
    return StripCell(*rows[0].key, [found.count(state) for state in states])


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
