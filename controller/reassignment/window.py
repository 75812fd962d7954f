"""The rolling window of steps in flight (KIP-435's batches).

Every decision ends with `fill`, because steps that ended in the decision have freed capacity for others.
"""

from controller.reassignment.phases import Phase, Trigger, fire, phase_of
from controller.schedule.openings import opening_at
from controller.schedule.periods import Schedule
from controller.scheduling.limits import LEADS
from controller.state.decision import Decision

STEPS_PER_DECISION = 250
"""Steps planned, and steps started, in one decision, which then takes a few milliseconds. Later decisions do
the rest."""


def fill(d: Decision) -> None:
    """Plan enqueued partitions and start steps that the limits allow. Set `more` if more are left.

    At most STEPS_PER_DECISION of each. After a large request the number is smaller or 0, so that the request
    is answered before its steps start.
    """
    state = d.state
    backlog = state.backlog
    if state.schedule is not None:
        _follow_schedule(d, state.schedule)
    stopped = state.paused or backlog.halted or not state.opening.is_open
    if not stopped and (backlog.to_plan or backlog.size):
        for key, may_start in backlog.next_steps(STEPS_PER_DECISION - d.rows):
            partition = state.partition(*key)
            if partition is None or phase_of(state, key) is not Phase.QUEUED:
                continue
            job = state.jobs.get(state.reassignments[key].job)
            if job is not None and job.paused:
                state.deferred.setdefault(job.id, []).append(key)
            else:
                fire(d, partition, Trigger.START if may_start else Trigger.PLAN)
    if d.leader_changes:
        backlog.usage.count(LEADS, -d.leader_changes)
    more = not stopped and (backlog.to_plan or backlog.size) and not backlog.idle
    if (more or state.deletable) and not state.woken:
        state.woken = True
        d.more = True


def _follow_schedule(d: Decision, schedule: Schedule) -> None:
    """Bring `State.opening` up to date, and request to be woken at the next change."""
    state = d.state
    if not state.opening.holds_at(d.now_ms):
        state.opening = opening_at(schedule, d.now_ms)
        d.wake_at_ms = state.opening.until_ms
