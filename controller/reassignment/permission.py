"""What keeps all steps, or those of one job, from starting. Each way by which a step can start asks here."""

from controller.schedule.openings import opening_at
from controller.state.decision import Decision


def is_stopped(d: Decision) -> bool:
    """Return whether no step may start: all is paused or halted, the schedule is closed, or the upstream is unreachable."""
    state = d.state
    if state.schedule is not None and not state.opening.holds_at(d.now_ms):
        state.opening = opening_at(state.schedule, d.now_ms)
        d.wake_at_ms = state.opening.until_ms
    return state.paused or state.backlog.halted or not state.opening.is_open or bool(state.unreachable)


def may_start(d: Decision, job: int) -> bool:
    """Return whether a step of the job may start, as far as the limits allow it."""
    known = d.state.jobs.get(job)
    return not is_stopped(d) and not (known is not None and known.paused)
