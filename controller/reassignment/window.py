"""Which steps start next (KIP-435's batches, as a rolling window).

Every decision ends with `fill`: whatever ended in it has made room.
"""

from itertools import islice

from controller.messages.effects import Wake
from controller.model.cluster import TopicPartition
from controller.reassignment.phases import Phase, Trigger, fire, phase_of
from controller.state.decision import Decision

STEPS_PER_DECISION = 250
"""Keeps one decision to a few milliseconds; the rest is planned and started in the decisions that follow."""


def fill(d: Decision) -> None:
    """Plan what has arrived, start what has room, up to a number of each; ask to be woken when there is more to do.

    A large request leaves that to later decisions, so that it is answered first.
    """
    state = d.state
    backlog = state.backlog
    budget = max(0, STEPS_PER_DECISION - d.rows)
    stopped = state.paused or backlog.halted
    if not stopped:
        for key in backlog.arrivals(budget):
            _take(d, key, Trigger.PLAN)
        for step in islice(backlog.candidates(), budget):
            if step is not None:
                _take(d, step[0], Trigger.TURN)
    backlog.end_decision()
    more = not stopped and not backlog.idle
    if (more or state.deletable) and not state.woken:
        state.woken = True
        d.emit(Wake())


def _take(d: Decision, key: TopicPartition, trigger: Trigger) -> None:
    state = d.state
    partition = state.partition(*key)
    if partition is None or phase_of(state, key) is not Phase.QUEUED:
        return
    job = state.jobs.get(state.reassignments[key].job)
    if job is not None and job.paused:
        state.deferred.setdefault(job.id, []).append(key)
    else:
        fire(d, partition, trigger)
