"""User tasks of Cruise Control's API: keep the result of one, and drop old ones."""

from controller.messages.task_events import TaskEnded
from controller.model.tasks import DryRun, UserTask, task_of
from controller.state.state import Decision


def task_ended(d: Decision, event: TaskEnded) -> None:
    """Keep the result."""
    jobs = d.state.orders.jobs.values()
    ended_ms = {task: job.ended_ms for job in jobs if (task := task_of(job.client_id))}
    for task in list(d.state.tasks.outdated(d.now_ms, ended_ms, event.task)):
        d.delete(UserTask, task)
    d.put(event.task)
    if event.dry_run is not None:
        for asked in list(d.state.tasks.outdated_runs(d.now_ms, event.dry_run)):
            d.delete(DryRun, asked)
        d.put(event.dry_run)
    d.answer(event, None)
