"""Which steps start next (KIP-435's batches, as a rolling window).

Every decision ends with `fill`: whatever ended in it has made room.
"""

from controller.decision import Decision
from controller.effects import Wake
from controller.model import TopicPartition
from controller.phases import Phase, Trigger, fire, phase_of

STEPS_PER_DECISION = 500
"""Keeps one decision to a few milliseconds; the rest starts in the decisions that follow."""


def fill(d: Decision, budget: int = STEPS_PER_DECISION) -> None:
    """Start steps that have room, looking at `budget` at most; ask to be woken when there is more to do."""
    state = d.state
    if not state.paused:
        for key, _ in state.backlog.candidates():
            if key is not None:
                _start(d, key)
            budget -= 1
            if not budget:
                break
    more = not state.paused and not state.backlog.idle
    if (more or state.doomed) and not state.woken:
        state.woken = True
        d.emit(Wake())


def _start(d: Decision, key: TopicPartition) -> None:
    state = d.state
    partition = state.partition(*key)
    if partition is None or phase_of(state, key) is not Phase.QUEUED:
        return
    job = state.jobs.get(state.reassignments[key].job)
    if job is not None and job.paused:
        state.held.setdefault(job.id, []).append(key)
    else:
        fire(d, partition, Trigger.TURN)
