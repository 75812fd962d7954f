"""Which steps start next (KIP-435's batches, as a rolling window).

Every decision ends with `fill`. The limits of KIP-435 are to go here; for now every queued partition may start.
"""

from controller.decision import Decision
from controller.effects import Wake
from controller.phases import Trigger, fire

STEPS_PER_DECISION = 500
"""Keeps one decision to a few milliseconds; the rest starts in the decisions that follow."""


def fill(d: Decision, budget: int = STEPS_PER_DECISION) -> None:
    """Take at most `budget` turns; ask to be woken when more could be taken, or when topics wait to go."""
    state = d.state
    queue = state.queued
    while queue and budget:
        budget -= 1
        key = queue.popleft()
        partition = state.partition(*key)
        if partition is not None:
            fire(d, partition, Trigger.TURN)
    if (queue or state.doomed) and not state.woken:
        state.woken = True
        d.emit(Wake())
