"""What jobs of moves between log directories show: each move with its state and its reason."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.cluster.config_keys import BROKER_KEYS
from controller.disks.rules import at_once
from controller.model.cluster import ResourceType
from controller.model.configs import STEP_TIMEOUT
from controller.model.disks import ENDINGS, DiskMove, MoveStage
from controller.state.settings import CLUSTER_DEFAULT
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
    if move.stage.is_open:
        shown = MOVING if move.stage.is_flying else _at_rest(state, move)
        return MovePart(move, shown, copied_bytes(state, move), why_not_moving(state, move, now_ms))
    ended = PartState[ENDINGS[move.stage].name]
    return MovePart(move, ended, copied_bytes(state, move), move.reason)


MOVING, WAITING, QUEUED = PartState.MOVING, PartState.WAITING, PartState.QUEUED


def move_parts(state: State, job: int, now_ms: int) -> Iterator[MovePart]:
    """Yield the moves of a job: those under way, those that wait, and those that have ended, by ending."""
    parts = [move_part(state, move, now_ms) for move in state.disks.moves.get(job, {}).values()]
    places = {shown: place for place, shown in enumerate((MOVING, WAITING, QUEUED, *jobs.ENDINGS))}
    yield from sorted(parts, key=lambda part: places[part.state])


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
        return _queued_reason(state, move)
    received = state.disks.received.get(move.replica)
    timeout = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, STEP_TIMEOUT)
    if received is None or now_ms - received.since_ms < int(timeout or BROKER_KEYS[STEP_TIMEOUT].default):
        return ""
    return f"the log directory receives no data: {move.target} of broker {move.broker}"


def _at_rest(state: State, move: DiskMove) -> PartState:
    waits = move.replica in state.disks.reasons or not state.settings.opening.is_open
    return WAITING if waits else QUEUED


def _queued_reason(state: State, move: DiskMove) -> str:
    job = state.orders.jobs.get(move.job)
    if stopped := held_reason(state):
        return stopped
    if job is not None and job.paused:
        return f"job {job.id} is paused"
    taken = len(state.disks.flying.get(move.broker, ()))
    if taken < at_once(state, move.job):
        return "waits for its turn"
    return f"limit of moves between log directories of broker {move.broker}: {taken}"
