"""The rolling window of steps in flight (KIP-435's batches).

Every decision ends with `fill`, because steps that ended in the decision have freed capacity for others.
"""

from controller.reassignment.permission import is_stopped
from controller.reassignment.phases import Phase, Trigger, fire, phase_of
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
    stopped = is_stopped(d)
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
