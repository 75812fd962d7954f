"""What jobs of moves between log directories show: each move with its state and its reason."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from controller.cluster.cluster_values import cluster_value
from controller.disks.rules import at_once
from controller.model.configs import STEP_TIMEOUT
from controller.model.disks import ENDINGS, DiskMove, MoveStage
from controller.state.state import State
from controller.views import jobs
from controller.views.jobs import PartState, held_reason


class MovePart(NamedTuple):
    """A move of a job."""

    move: DiskMove
    state: PartState
    copied: int
    """Bytes that the target directory has."""
    reason: str = ""
    """Why the replica does not move or makes no progress, or why the move has ended before its arrival."""


def move_part(state: State, move: DiskMove, now_ms: int) -> MovePart:
    """Return the move as it is now."""
    reason = why_not_moving(state, move, now_ms) if move.stage.is_open else move.reason
    return MovePart(move, move_state(state, move), copied_bytes(state, move), reason)


MOVING, WAITING, QUEUED = PartState.MOVING, PartState.WAITING, PartState.QUEUED

_STATES = {stage: PartState[ending.name] for stage, ending in ENDINGS.items()} | {
    MoveStage.MOVING: MOVING,
    MoveStage.RETURNING: MOVING,
}


def move_state(state: State, move: DiskMove) -> PartState:
    """Return the state of the move."""
    if move.stage is not MoveStage.WAITING:
        return _STATES[move.stage]
    waits = move.replica in state.disks.reasons or not state.settings.opening.is_open
    return WAITING if waits else QUEUED


def moves_in_order(state: State, job: int) -> Iterator[tuple[DiskMove, PartState]]:
    """Yield the moves of a job with their states.

    Those under way are first, then those that wait, and those that have ended, by ending. The first ones of a
    large job are yielded without a look at the others.
    """
    flying = chain.from_iterable(list(moves.values()) for moves in list(state.disks.flying.values()))
    yield from ((move, MOVING) for move in flying if move.job == job)
    yield from _waiting_in_order(state, job)
    ended: dict[PartState, list[DiskMove]] = {ending: [] for ending in jobs.ENDINGS}
    for move in list(state.disks.moves.get(job, {}).values()):
        if not move.stage.is_open:
            ended[_STATES[move.stage]].append(move)
    for ending, moves in ended.items():
        yield from ((move, ending) for move in moves)


def _waiting_in_order(state: State, job: int) -> Iterator[tuple[DiskMove, PartState]]:
    """Yield the moves that were not asked for: first those with a reason that is not a limit."""
    disks = state.disks
    groups = [of_broker[job] for of_broker in list(disks.waiting.values()) if job in of_broker]
    waiting = chain.from_iterable(list(moves.values()) for moves in groups)
    if not state.settings.opening.is_open:
        yield from ((move, WAITING) for move in waiting)
        return
    named = (disks.open.get(replica) for replica in list(disks.reasons))
    for move in named:
        if move is not None and move.job == job and move.stage is MoveStage.WAITING:
            yield move, WAITING
    yield from ((move, QUEUED) for move in waiting if move.replica not in disks.reasons)


def copied_bytes(state: State, move: DiskMove) -> int:
    """Return the bytes that the target directory has."""
    received = state.disks.received.get(move.replica)
    if move.stage is MoveStage.DONE:
        return move.size
    return 0 if received is None or not move.stage.is_flying else min(received.bytes, move.size)


def why_not_moving(state: State, move: DiskMove, now_ms: int) -> str:
    """Return why an open move does not start or makes no progress; empty if it does."""
    reason = state.disks.reasons.get(move.replica, "")
    if reason:
        return reason
    if move.stage is MoveStage.WAITING:
        return queued_reason(state, move.job, move.broker)
    received = state.disks.received.get(move.replica)
    if received is None or now_ms - received.since_ms < int(cluster_value(state, STEP_TIMEOUT)):
        return ""
    return f"the log directory receives no data: {move.target} of broker {move.broker}"


def queued_reason(state: State, number: int, broker: int) -> str:
    """Return why moves of the job in this broker do not start that have no reason of their own."""
    job = state.orders.jobs.get(number)
    if stopped := held_reason(state):
        return stopped
    if job is not None and job.paused:
        return f"job {job.id} is paused"
    limit = at_once(state, number)
    if len(state.disks.flying.get(broker, ())) < limit:
        return "waits for its turn"
    return f"limit of moves between log directories of broker {broker}: {limit}"
