"""The event of a user task of Cruise Control's API."""

from dataclasses import dataclass

from controller.messages.event import Event
from controller.model.tasks import DryRun, UserTask


@dataclass(frozen=True, slots=True)
class TaskEnded(Event[None]):
    """The result of a task is known. It is kept for a while, and older ones are dropped."""

    task: UserTask
    dry_run: DryRun | None = None
    """What the task has shown, or what it is about to execute: both become durable together."""
