"""`/v1/jobs/{job}/strip`: the states of a job's partitions, in a bounded number of cells."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from common.clock import wall_clock
from controller.model.cluster import TopicPartition
from controller.model.disks import BrokerReplica
from controller.model.jobs import Job, JobKind
from controller.state.state import State as ClusterState
from controller.views.disk_moves import move_state, why_not_moving
from controller.views.jobs import PartState, part_states
from server.api.shared.call import Call, Endpoint
from server.api.shared.job_rows import job_of

STALLED = "stalled"
"""The state of partitions that move, but whose step makes no progress."""


class StripCell(Struct):
    """Partitions that follow each other by topic and number; in jobs between log directories, replicas."""

    topic: Annotated[str, Meta(description="The first partition of the cell.")]
    partition: int
    broker: Annotated[
        int | None,
        Meta(description="That of the first replica; null in jobs that do not move between log directories."),
    ]
    counts: Annotated[list[int], Meta(description="Number of partitions in each of `states`.")]


class Strip(Struct):
    """The partitions of a job by topic and number."""

    total: int
    per_cell: Annotated[int, Meta(description="Partitions in each cell but the last.")]
    states: Annotated[
        list[str],
        Meta(description="As of a job's partitions; `stalled` are those that move but make no progress."),
    ]
    cells: list[StripCell]


State: TypeAlias = PartState | str

_Key: TypeAlias = TopicPartition | BrokerReplica

_ORDER: Sequence[State] = [PartState.MOVING, STALLED, *list(PartState)[1:]]


class StripQuery(Struct, forbid_unknown_fields=True):
    """How many cells to return."""

    cells: Annotated[int, Meta(ge=1, le=1_000, description="At most.")] = 240


async def strip(call: Call, query: StripQuery) -> Strip:
    """Count the partitions of each cell by state."""
    job = job_of(call)
    states = await (_move_states if job.kind is JobKind.DISKS else _part_states)(call, job)
    return await call.compute(len(states), _strip, states, query.cells)


async def _part_states(call: Call, job: Job) -> Mapping[_Key, State]:
    states: dict[_Key, State] = {}
    pieces: Iterator[Mapping[Any, State]] = part_states(call.state, job.id)
    for piece in pieces:
        states.update(piece)
        await asyncio.sleep(0)
    for key in call.services.progress.stalled:
        if states.get(key) is PartState.MOVING:
            states[key] = STALLED
    return states


async def _move_states(call: Call, job: Job) -> Mapping[_Key, State]:
    count = len(call.state.disks.moves.get(job.id, ()))
    return await call.compute(count, _states_of_moves, call.state, job.id)


def _states_of_moves(state: ClusterState, job: int) -> Mapping[_Key, State]:
    now = wall_clock()
    states: dict[_Key, State] = {}
    for replica, move in list(state.disks.moves.get(job, {}).items()):
        shown = move_state(state, move)
        stalls = shown is PartState.MOVING and why_not_moving(state, move, now)
        states[replica] = STALLED if stalls else shown
    return states


def _strip(states: Mapping[_Key, State], most: int) -> Strip:
    keys = sorted(states)
    size = max(1, -(-len(keys) // most))
    found = [states[key] for key in keys]
    used = [state for state in _ORDER if state in found]  # a set would hash each: that takes longer
    cells = [_cell(keys[start], found[start : start + size], used) for start in range(0, len(keys), size)]
    names = [state.value if isinstance(state, PartState) else state for state in used]
    return Strip(len(keys), size, names, cells)


def _cell(first: _Key, found: Sequence[State], states: Sequence[State]) -> StripCell:
    broker = first.broker if isinstance(first, BrokerReplica) else None
    return StripCell(first.topic, first.partition, broker, [found.count(state) for state in states])


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
